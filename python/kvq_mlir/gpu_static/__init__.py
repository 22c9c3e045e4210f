"""What a cubin says about a kernel's speed, without a GPU; docs/GPUStatic.md has the model.

`cubin` reads the file, `sass` decodes instructions, `flow` finds loops, `chips` says what GPUs have, `model` what each
limit allows.
"""
