"""Sums up what the test runners of tools/check wrote.

usage: sum_results.py FOLDER

For each runner NAME the folder has NAME.status, its exit status, and NAME.xml,
its results in the JUnit format. A runner that failed without a failed test (it
crashed, or found no tests) counts as one failure: it must not go unnoticed.
"""

import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def count(xml_file):
    """Returns how many tests passed, failed and were skipped."""
    passed = failed = skipped = 0
    for case in ElementTree.parse(xml_file).iter("testcase"):
        # One test can have several: an error in its teardown after a failure.
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failed += 1
        elif "skipped" in kinds:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def sum_up(folder):
    """Prints a line for each runner and the closing line; returns the status."""
    total_passed = total_failed = total_skipped = 0
    for status_file in sorted(folder.glob("*.status")):
        name, status = status_file.stem, int(status_file.read_text())
        passed = failed = skipped = 0
        try:
            passed, failed, skipped = count(status_file.with_suffix(".xml"))
        except (OSError, ElementTree.ParseError) as error:
            print(f"    {name}: no readable results ({error})")
            failed = 1
        if status != 0 and failed == 0:
            print(f"    {name}: no test failed, but its exit status is {status}")
            failed = 1
        print(f"    {name:9} {passed:5} passed {failed:5} failed {skipped:5} skipped")
        total_passed += passed
        total_failed += failed
        total_skipped += skipped

    ran = total_passed + total_failed
    if ran == 0:
        print("    no test ran")
    tail = f", {total_skipped} skipped" if total_skipped else ""
    print(f"{total_passed} passed, {total_failed} failed{tail}")
    return 0 if ran and not total_failed else 1


if __name__ == "__main__":
    sys.exit(sum_up(pathlib.Path(sys.argv[1])))
