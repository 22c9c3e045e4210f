//===- BlockEmitter.h - The code of a block's attention ---------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parts of the emission share. A lane is 4 g + t of its warp: of
// fragments with tokens as rows it has rows g and g + 8, and columns (query
// rows) 2 t and 2 t + 1.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_TENSORCORE_BLOCKEMITTER_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_TENSORCORE_BLOCKEMITTER_H

#include "BlockPlan.h"
#include "WarpBuilder.h"

#include "kvq/Conversion/CodeCopies.h"

namespace mlir::kvq {

/// A lane's numbers of its two columns.
using PerColumn = std::array<Value, 2>;

/// What each of a lane's tokens of a step has one of for each group.
using PerToken = SmallVector<SmallVector<Value>>;

/// Scales, and what zeros add to the values of codes; empty where a side has
/// none.
struct TokenScales {
  /// As they are stored; of 8 bits as f16 or f32.
  PerToken scales;
  /// f32.
  PerToken zeros;
  /// In their place, where keys' are multiplied by sums of the query: operands
  /// of each product.
  SmallVector<std::array<Value, 2>> zeroPairs;
};

/// Whether all tokens of a step, and of the one that is copied meanwhile, are
/// there and seen by all columns, or nothing is known of them.
enum class StepKind { Whole, Partial };

/// Tokens that a query token sees, beside the first ones of a window.
struct TokenRange {
  Value begin, end;
};

/// Tokens that a warp attends to at once.
struct Step {
  /// The first token, i32.
  Value begin;
  StepKind kind;
  /// Of paged caches the pages, i32, that hold the step.
  Value keyPage, valuePage;
  /// A token of the step, where which one does not matter.
  Value some = begin;
};

/// What a warp carries from step to step for the columns of a tile.
struct ColumnState {
  /// What is added to scores: minus the maximum that probabilities refer to.
  PerColumn shift;
  /// The lane's part of the sums of probabilities.
  PerColumn sum;
  /// For each group of values with zeros, the lane's part of the sums of
  /// probabilities times zeros; of `multipliesValueZeros` one, where row g has
  /// those of group g % 4.
  SmallVector<PerColumn> zeroSums;
  /// For each `ValueStep`.
  SmallVector<FragmentC> acc;
  /// For each group of values, the sums of probabilities times scales, as they
  /// are rounded, times `getSummedOffset`: what offsets of codes are taken off
  /// with. Rows g are the first plane's, rows g + 8 the second's; of several
  /// groups row g is that of group g, where `BlockPlan::sumsGroupsInRows`.
  SmallVector<FragmentC> rounded;
  /// The lane's part of the same sums before they are rounded, where they are
  /// to f8E4M3FN.
  SmallVector<PerColumn> scaled;

  SmallVector<Value> pack() const;
  void unpack(ValueRange values);
};

/// What a warp carries from step to step.
struct WarpState {
  /// Slots of the ring, i32 bytes from the warp's first one: with the keys and
  /// the values of each step that is there or on its way, and, not carried, the
  /// free one.
  SmallVector<Value, 3> slots;
  /// Of paged caches the pages of these steps, and of the next one.
  SmallVector<Value, 2> keyPages, valuePages;
  /// Of each tile of columns.
  SmallVector<ColumnState, 1> tiles;

  Value getKeySlot() const { return slots[0]; }
  Value getValueSlot() const { return slots[1]; }
  Step getStep(Value begin, StepKind kind, size_t ahead = 0) const;
  void addPages(const Step &step);
  void advance(const Step &later);
  SmallVector<Value> pack() const;
  void unpack(ValueRange values);
};

/// A place in a slot of the ring, in bytes from it. What lanes share is not in
/// registers.
struct SlotPlace {
  Value offset;
  int64_t constant = 0;
};

/// Query rows as columns of products.
struct QueryColumns {
  /// For each `KeyStep`: pairs, or a word of four f8E4M3FN.
  SmallVector<SmallVector<FragmentB, 2>> fragments;
  SmallVector<Value> words;
  /// What products are multiplied with where they are not the query's.
  PerColumn unit;
  /// For each group of keys: minus the query times what codes are off by, and
  /// the sum of the query where tokens have zeros.
  SmallVector<FragmentC> scoreInits, sums;
  /// In place of the sums: operands of products with zeros.
  SmallVector<Value> sumPairs;
  /// Where the query is multiplied by scales of keys, and these have zeros: the
  /// query times them.
  PerColumn zeros;
  /// Whether products begin with these and the shift, so that they are scores.
  bool beginsWithShift = false;
};

/// Query rows of which each lane has two columns of products.
struct ColumnTile {
  Value firstRow;
  /// Where scales of keys are not folded into it.
  QueryColumns query;
  PerColumn biases, slopes;
  /// Of a mask the i64 addresses of each column's elements for tokens from 0
  /// on.
  PerColumn maskRows;
  /// The position of each column's query token, and the tokens it sees.
  PerColumn positions;
  std::array<TokenRange, 2> visible;
};

/// The rows of a storage component, of the block's sequence and head.
struct ComponentRows {
  /// Numbers of 8 bits are loaded as integers.
  Type elementType;
  /// i64 address of the first row; in a pool of the head's first row of all.
  Value base;
  /// Of a pool, i64 bytes from page to page.
  Value pageBytes;
  /// Bytes from row to row, and tokens that one is for.
  int64_t stride = 0, rowTokens = 1;
  /// What divides the address of the first of a lane's tokens in a whole step,
  /// and that of the step's first row.
  int64_t alignment = 1, stepAlignment = 1;
  /// Of scales and zeros that come by the ring: where they are in a slot, the
  /// bytes of a row, and those that a lane copies at once.
  int64_t slotPlace = 0, rowBytes = 0, copyBytes = 0;

  int64_t getElementBytes() const {
    return elementType.getIntOrFloatBitWidth() / 8;
  }
};

/// One side of the block's cache.
struct SideRows {
  const SidePlan *plan;
  /// Codes or exact tokens, and where the plan has them scales and zeros. Of
  /// given ones the first row is the head's.
  ComponentRows rows, scales, zeros;
  /// f32, what scales are multiplied by where they have two levels.
  Value outerScale;
  Value pages;
  /// Where the lane's chunks of 16 bytes go, for each of its copies of a step.
  SmallVector<SlotPlace> copyPlaces;
  /// Bytes from a slot to the lane's first load.
  Value loadPlace;
};

class BlockEmitter {
public:
  /// `ring`: as of `emitBlockAttention`.
  BlockEmitter(OpBuilder &builder, BlockAttentionOp op, const BlockPlan &plan,
               Value ring, CodeCopies copies);

  void emit();

  /// BulkCopies.cpp: whether whole steps are rows that lie together.
  bool areStepsTogether() const;

private:
  /// Of each fragment.
  using Scores = SmallVector<FragmentC>;
  /// Of a fragment the words that are columns of products once they are
  /// transposed: a pair, or two of bf16, of each half; of floats of 8 bits one.
  using Weights = SmallVector<FragmentB, 2>;
  /// Probabilities times scales, of each group and fragment; or as they are, in
  /// place of those of the first group, until they are multiplied with values.
  struct ScaledProbabilities {
    SmallVector<SmallVector<Weights>> groups;
    bool areScaled = true;

    int64_t getFragments() const { return groups.front().size(); }
  };
  /// Sums of two products of matrices, of the one those of rows g, of the other
  /// those of rows g + 8.
  struct HalfSums {
    FragmentC low, high;
  };
  /// The words of so many channels from a first one on, of a lane of column t
  /// of those t times a stride further: (first, stride, count).
  using LoadChannels = llvm::function_ref<Words(int64_t, int64_t, int64_t)>;
  /// The scales of a step's values, loaded where it is called.
  using LoadScales = llvm::function_ref<TokenScales()>;
  /// Keeps scales that are no numbers from what is not of their groups.
  using IsolateGroups = llvm::function_ref<void(ColumnState &)>;
  /// What of a product counts: tokens of a step, and columns of each tile.
  struct ProductPart {
    Value stepBegin;
    TokenRange tokens;
    /// Of a mask that is to hide tokens, too, the i64 address of its row.
    Value maskRow;
    SmallVector<PerColumn> columns;
  };

  /// Elements of a mask, as they are stored, for each of a lane's tokens.
  using MaskElements = SmallVector<PerColumn>;

  // BlockAttention.cpp: the whole.
  void locate(Value ofBatch, Value ofHead);
  void storeTask();
  BlockEmitter relocate();
  void locateLane();
  Value getFirstStep();
  void emitRows(Value firstRow);
  TokenRange getVisible(Value position);
  Value sees(const TokenRange &range, Value token);
  void setVisibleTokens();
  Value getColumnRow(const ColumnTile &tile, int64_t column);
  void setVisibleTokens(ColumnTile &tile);
  ColumnTile createTile(Value firstRow);
  WarpState createState();
  Value getSlotAddress(Value slot, Value ofLane);
  void findFreeSlot(WarpState &state);
  WarpState emitStep(const Step &step, WarpState state);
  WarpState emitWholeStep(const Step &step, const Step &ahead, WarpState state);
  WarpState emitPartialStep(const Step &step, const Step &ahead,
                            WarpState state);
  Step getSpan(const Step &step, Value span);
  WarpState emitPartialSpans(const Step &step, WarpState state);
  WarpState emitPartialSpan(const Step &step, WarpState state);
  void emitPart(const Step &part, ArrayRef<QueryColumns> queries,
                WarpState &state);
  WarpState emitSteps(Value first, WarpState state);
  WarpState emitPartialLoop(Value first, Value last, WarpState state);
  std::pair<Value, WarpState> emitWholeLoop(Value first, Value steps,
                                            WarpState state);
  WarpState emitPartialSteps(Value first, Value last, WarpState state,
                             Value isFirst, Value isLast);
  void awaitCopies(const SideRows &side, const Step &step, Value slot);

  // Copies.cpp: from the cache to the ring.
  SideRows locateSide(const SidePlan &plan, ValueRange components, Value pages);
  ComponentRows locateComponent(const SidePlan &plan, Value component,
                                int64_t rowTokens, bool isPool);
  ComponentRows locateGiven(const SidePlan &plan, Value component);
  void planPlaces(SideRows &side);
  void planCopies(SideRows &side);
  void planLoads(SideRows &side);
  void copyStep(const SideRows &side, const Step &step, Value slot);
  void copyWholeStep(const SideRows &side, const Step &step, Value slot);
  void copyRowByRow(const SideRows &side, const Step &step, Value slot);
  void storeTables();
  Words loadTables();
  Value loadPage(const SideRows &side, ArrayRef<Value> table, Value begin,
                 StepKind kind);
  Step createStep(Value begin, StepKind kind);
  Step createLaterStep(const Step &ahead);
  Value addChunk(Value first, const SideRows &side, Value chunk);
  Value locateStep(const SideRows &side, const Step &step,
                   const ComponentRows &rows);
  Value getRow(const SideRows &side, Value token);
  Value wrap(const SideRows &side, Value index, int64_t size);

  // BulkCopies.cpp: the same of whole steps, by one lane.
  void emitByOneLane(llvm::function_ref<void()> emit);
  void copyStepInBulk(const SideRows &side, const Step &step, Value slot);
  void awaitBulkCopies(const SideRows &side, Value slot);
  void beginBulkCopies(const WarpState &state);
  void endBulkCopies(const WarpState &state);

  // Scales.cpp: scales and zeros of tokens to registers.
  SmallVector<Value> extractNumbers(Value vector, Type type);
  TokenScales loadScales(const SideRows &side, const Step &step);
  TokenScales loadGuardedScales(const SideRows &side, const Step &step,
                                int64_t firstToken, int64_t count);
  PerToken loadWhole(const SideRows &side, const Step &step,
                     const ComponentRows &rows);
  PerToken loadGuarded(const SideRows &side, const Step &step,
                       const ComponentRows &rows, int64_t firstToken,
                       int64_t count);
  void buildOffsets(const SidePlan &side, TokenScales &of);

  // ScaleCopies.cpp: scales and zeros of whole steps by the ring.
  void planScaleCopies(SideRows &side);
  Value seesSome(Value first, Value last);
  Value countBytesThere(const Step &step, const ComponentRows &rows, Value row,
                        Value inRow);
  void copyComponent(const SideRows &side, const Step &step,
                     const ComponentRows &rows, Value slot);
  void copyScales(const SideRows &side, const Step &step, Value slot);
  Words loadCopied(Value address, int64_t offset, int64_t bytes);
  SmallVector<Value> splitWords(ArrayRef<Value> words, Type type);
  PerToken loadCopiedTokens(const ComponentRows &rows, Value slot,
                            int64_t fragment);
  TokenScales loadCopiedScales(const SideRows &side, Value slot,
                               int64_t fragment);
  void isolateGroups(ColumnState &state, Value slot);
  TokenScales loadAllCopiedScales(const SideRows &side, Value slot);

  // Unpack.cpp: words of codes to pairs of f16.
  /// Two pairs as columns of products with `element`: of f16, or as the sum of
  /// two of bf16, which has too few digits.
  SmallVector<FragmentB, 2>
  packColumns(const StoredElement &element,
              std::array<std::array<Value, 2>, 2> pairs);
  std::array<Value, 2> unpackPlane(const StoredElement &element, Value word,
                                   int64_t plane);
  std::array<Value, 4> convertE4M3(Value word);
  /// A sum of products with elements, NaN if one of these is.
  Value exposeNaN(const StoredElement &element, Value sum);
  static double getOffset(const StoredElement &element, int64_t plane);
  static double getSummedOffset(const StoredElement &element, int64_t plane);

  // Quads.cpp: operands of products that lanes load anew.
  void storeQuads(Value firstRow);
  void storeQuad(int64_t place, const std::array<Value, 4> &of);
  std::array<Value, 4> loadQuad(int64_t place, Type type);
  FragmentA loadPairs(int64_t place);
  void storeTileQuads();
  void loadTileInits(QueryColumns &query, int64_t tile);
  void loadTileQuery(QueryColumns &query, int64_t tile, size_t firstPair);

  // Tables.cpp: codes of 4 bits to any f16s.
  std::array<Value, 2> lookUpPairs(const StoredElement &element, Value word,
                                   int64_t plane);

  // GivenScales.cpp: scales and zeros of all tokens.
  Value loadGroupElement(const SidePlan &plan, Value row, Type type,
                         Value channel);
  SmallVector<std::array<Value, 4>>
  normalizeQuery(QueryColumns &columns,
                 ArrayRef<std::array<Value, 4>> elements);
  FragmentC finishSums(const ValueStep &step, FragmentC acc,
                       const PerColumn &probabilities);

  // Query.cpp: rows of the query as columns of products.
  QueryColumns buildQuery(Value firstRow, const Step *step);
  double getQueryFactor();
  void roundQuery(QueryColumns &columns,
                  ArrayRef<std::array<Value, 4>> elements);
  std::array<Value, 4> loadQueryElements(Value firstRow, const KeyStep &step);
  std::array<Value, 4> loadGroupElements(const KeyStep &step, Value row,
                                         Type type);
  Value getOfColumn(Value ofRow, int64_t column);

  // KeyScales.cpp: the query times scales of several tokens, in pairs.
  SmallVector<FragmentB> buildQueryPairs(Value firstRow);
  SmallVector<size_t> orderPairs();
  void storeQueryPairs(Value firstRow);
  void storeKeyOffsets();
  double getMiddle();
  SmallVector<FragmentB> loadQueryPairs();
  SmallVector<FragmentB> loadGroupPairs(LoadChannels load);
  void addRow(HalfSums &sums, ArrayRef<FragmentB> query,
              ArrayRef<FragmentB> row);
  void takeOffsetsOff(HalfSums &sums, const QueryColumns &query);
  bool takesCopies(const Step &step);
  SmallVector<FragmentB> loadKeyRow(const ComponentRows &rows,
                                    const WarpState &state, const Step &step,
                                    int64_t span);
  QueryColumns scaleQueryPairs(const WarpState &state, const Step &step,
                               int64_t span, const PerColumn *shift);
  void addConstantProducts(QueryColumns &columns);

  // KeyZeros.cpp: zeros of keys times sums of the query.
  void packQuerySums(QueryColumns &columns);
  double getZeroFactor();
  SmallVector<std::array<Value, 2>> loadZeroPairs(Value slot, int64_t fragment);
  SmallVector<std::array<Value, 2>> pickZeroPairs(const PerToken &zeros);
  FragmentC multiplyKeyZeros(ArrayRef<std::array<Value, 2>> zeroPairs,
                             const QueryColumns &columns);

  // ValueZeros.cpp: probabilities times zeros of values.
  bool multipliesValueZeros() {
    return plan.multipliesValueZeros() && scalesWhenMultiplied();
  }
  void multiplyValueZeros(std::array<FragmentC, 2> &products,
                          const Weights &probabilities, Value slot,
                          int64_t fragment);
  void addZeroProducts(ColumnState &state,
                       const std::array<FragmentC, 2> &products);
  SmallVector<PerColumn> getZeroSums(const ColumnState &state);
  void addZeroSums(ColumnState &state, int64_t group, const PerColumn &sums);
  void addCenter(ColumnState &state);

  // FP8Products.cpp: products of floats of 8 bits.
  void roundQueryToFP8(QueryColumns &columns,
                       ArrayRef<std::array<Value, 4>> elements);
  void addFP8Dots(const std::array<Words, 2> &words,
                  ArrayRef<QueryColumns> queries,
                  MutableArrayRef<SmallVector<FragmentC>> dots);
  void emitFP8Values(WarpState &state,
                     ArrayRef<ScaledProbabilities> probabilities,
                     const ProductPart *part);
  PerColumn getRoundingFactor(const ColumnState &state, int64_t group);

  // Scores.cpp: query times keys.
  SmallVector<QueryColumns, 1> getQueries(const WarpState &state,
                                          const Step &step, int64_t span = 0);
  void limitLoads(int64_t fragment, MutableArrayRef<QueryColumns> queries);
  void addScores(SmallVectorImpl<Scores> &scores, const WarpState &state,
                 const Step &step, ArrayRef<QueryColumns> queries,
                 llvm::function_ref<TokenScales()> loadScales,
                 int64_t fragment);
  SmallVector<Scores> emitScores(const WarpState &state, const Step &step);
  std::array<Words, 2> loadKeyWords(Value slot, int64_t fragment);
  SmallVector<SmallVector<FragmentC>>
  emitDots(Value slot, ArrayRef<QueryColumns> queries, int64_t fragment);
  FragmentC finishScores(const ColumnTile &tile, const PerColumn &shift,
                         const QueryColumns &columns, ArrayRef<FragmentC> dots,
                         const TokenScales &of, Value begin, int64_t fragment);
  bool changesScores();
  Value applyVariants(const ColumnTile &tile, Value score, int64_t token,
                      int64_t column, Value begin);
  Value getToken(Value begin, int64_t laneToken);
  void hideScores(const ColumnTile &tile, Scores &scores, Value begin);

  // Mask.cpp: what a mask makes of scores.
  Value locateMaskRow(Value row);
  SmallVector<MaskElements> loadMask(const Step &step);
  MaskElements loadMaskOfTile(const ColumnTile &tile, const Step &step);
  Value loadMaskAt(Value maskRow, Value token);
  Value hides(Value maskElement);
  void applyMask(Scores &scores, const MaskElements &mask);
  Value holdNoNumbers(Value slot, int64_t fragments);
  void emitValuesByRow(WarpState &state, const Step &step,
                       ArrayRef<ScaledProbabilities> probabilities);
  void emitMaskedValues(WarpState &state, const Step &step,
                        ArrayRef<ScaledProbabilities> probabilities);

  // Softmax.cpp: scores to probabilities.
  ScaledProbabilities emitSoftmax(ColumnState &state, StepKind kind,
                                  Scores scores, LoadScales loadScales,
                                  IsolateGroups isolate = {});
  FragmentC scaleFragment(const FragmentC &p, const PerToken &scales,
                          int64_t fragment, int64_t group,
                          ArrayRef<FragmentC> areSeen);
  ScaledProbabilities scaleProbabilities(ColumnState &state,
                                         const Scores &probabilities,
                                         const PerToken &scales,
                                         ArrayRef<FragmentC> areSeen);
  Value keepSeen(Value pair, Value isFirstSeen, Value isSecondSeen);
  Weights packWeights(const FragmentC &p);
  Weights scalePairs(Weights weights, const PerToken &scales, int64_t fragment,
                     int64_t group);
  /// Whether probabilities of whole steps are multiplied by scales only when
  /// they are with values, which the scales come with. Under a mask scales that
  /// are no numbers may be those of hidden tokens.
  bool scalesWhenMultiplied() {
    return plan.value.copiesScales && plan.scalesValuesInPairs() &&
           !op.getMask();
  }
  /// Whether scales that are no numbers are kept from other groups in the slot.
  bool isolatesGroups() { return plan.sumsGroupsInRows() && !op.getMask(); }
  Value buildMaxScore(const Scores &scores, const PerToken &scales);
  Value buildMaxScale(const PerToken &scales);
  double getLeastLog2Scale() const;
  double getLog2Target() const;
  Value callsForRescaling(const ColumnState &state, const Scores &scores,
                          const PerToken &scales);
  void addSums(ColumnState &state, const Scores &probabilities,
               const PerToken &zeros, ArrayRef<FragmentC> areSeen);
  Value isSeen(Value score);
  double getHiddenScore();
  Scores addShift(const ColumnState &state, const Scores &scores);
  PerColumn rescale(ColumnState &state, const Scores &scores,
                    const PerToken &scales, bool areFinite);

  // Values.cpp: probabilities times values.
  std::array<Words, 2> loadValueWords(Value slot, int64_t fragment,
                                      const ProductPart *part);
  std::array<Words, 2> loadFragment(Value slot, int64_t fragment);
  FragmentA unpackValues(const std::array<Words, 2> &words,
                         const ValueStep &step);
  Weights transposeColumns(Weights weights);
  SmallVector<Weights> getWeights(const WarpState &state,
                                  const ScaledProbabilities &of,
                                  int64_t fragment);
  FragmentC selectColumns(const ProductPart *part, int64_t tile,
                          const FragmentC &yes, const FragmentC &no);
  void emitValues(WarpState &state, ArrayRef<ScaledProbabilities> probabilities,
                  const ProductPart *part = nullptr);
  void emitPartialValues(WarpState &state, const Step &step,
                         ArrayRef<ScaledProbabilities> probabilities);
  FragmentA buildValueOffsets();
  void storeValueOffsets();
  SmallVector<FragmentA> loadValueOffsets();
  int64_t getSumsOf(int64_t group);
  PerColumn getRoundedSums(const ColumnState &state, int64_t group,
                           int64_t plane);
  void takeOffsetsOff(WarpState &state);

  // Merge.cpp: the states of all warps into the operands.
  void emitMerge(const ColumnState &state, Value firstRow);
  void clearSums();

  /// Words of each half of a fragment, a chunk each.
  std::array<Words, 2> loadMatrices(const SideRows &side, Value slot,
                                    int64_t fragment);
  /// Address and constant offset of a lane's load of a row of its run in a
  /// slot, `load`th of the row.
  std::pair<Value, int64_t> getLoadAddress(const SideRows &side, Value slot,
                                           int64_t row, int64_t load);

  /// Whether rows of a tile may see different tokens: in partial steps.
  bool rowsDiffer() { return op.hidesByPosition() && op.getQueryTokens() != 1; }

  WarpBuilder w;
  BlockAttentionOp op;
  const BlockPlan &plan;
  int64_t rows;
  Value ring;
  /// The thread, and its warp, lane, and g and t of the lane; i32.
  Value thread, warp, lane, laneRow, laneColumn;
  /// The warp's first slot, an i32 address.
  Value warpSlots;
  /// How far back an instruction's offset reaches, and as far on.
  static constexpr int64_t kCopyReach = 2048;
  /// 16 times the lane, and so much more.
  Value laneBytes, laneReach;
  /// The sequence and the head of the block; i32.
  Value batch, head;
  /// The tokens of the op, i32.
  Value begin, end;
  SideRows key, value;
  /// Whether whole steps are copied in bulk.
  bool copiesInBulk;

  /// The position of the first query token, i32, where it matters.
  Value position;
  /// The tokens that all query rows see, and those that some do.
  TokenRange common, some;
  /// The query rows at hand.
  SmallVector<ColumnTile, 1> tiles;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_TENSORCORE_BLOCKEMITTER_H
