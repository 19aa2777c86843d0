// Kinds of data that samples are made of.
//
//   auto spec = find_modality(name)->parse(fields, where, nullptr);  // modalities.h
//   auto part = (*spec)->plan(part_name, place, source);
//   (*part)->decode(sample, draws); (*part)->augment(sample, draws);
//
// The samples of a pipeline have named parts, each of one kind, its modality. A modality is a few files and an entry in
// modalities.cc, and is made of these types:
//
//   Modality    the kind: its name, and how a description is read
//   PartSpec    a description of one part
//   PartPlan    a description that was checked against a source, and what is done with each sample
//   PartState   what a sample has of the part while it is worked on
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/base/attachment.h"
#include "drapps/base/memory_ledger.h"
#include "drapps/base/philox.h"
#include "drapps/base/result.h"
#include "drapps/cache/keeper.h"
#include "drapps/source/learned.h"
#include "drapps/source/sampler.h"
#include "drapps/source/source.h"

namespace drapps {

struct BatchColumns;  // columns.h
struct CarriedPart;   // device_part.h
struct DevicePart;
struct DeviceRoom;  // deliver/slot_arena.h
class LateStage;    // late_stage.h
class LateSink;
struct Trail;
class RowStreams;  // row_stream.h
class Scratch;

class PartState {
 public:
  virtual ~PartState() = default;
  /// Frees all memory; the next sample takes it anew.
  virtual void reset() noexcept = 0;
};

/// The states of all parts of one sample; passed on from sample to sample, so they are warm and grown.
struct Workspace {
  std::vector<std::unique_ptr<PartState>> states;  // in the order of the plan's parts

  void reset() noexcept {
    for (const auto& state : states) state->reset();
  }
};

/// Which record a sample is made of.
struct Asked {
  Sampler::Row row;          // what the order asks for
  std::uint64_t record = 0;  // the row's, or one that stands in for it
  bool replaced = false;     // another record stands in
};

/// What is known of a record once it is decoded.
struct Decoded {
  Learned known = Learned::kNothing;  // of it, when decoding began
  std::uint64_t work = 0;             // units, as its modality counts them; 0 where it counts none
  bool distrusted = false;            // what was learned of it was found to be wrong, and is not used
};

/// One record on its way from the reader to its row of a batch: a value for each stage, which that stage alone fills.
struct Sample {
  Source* source = nullptr;
  cache::Keeper* keeper = nullptr;  // what may keep the record, or null
  Asked asked;
  ReadRequest* read = nullptr;
  cache::Kept kept;
  Decoded decoded;
  std::byte* row_there = nullptr;  // where on a device its finished row may stay, or null
  std::shared_ptr<void> late;      // what a device has made of it, as its part knows it; or null
  Workspace* workspace = nullptr;  // from decoding to the end

  /// What `keeper` is asked about the record.
  cache::KeepRequest request() noexcept { return {asked.record, *read, kept}; }
};

/// What the ops of a part draw with, at one coordinate.
class PartDraws {
 public:
  /// @param before  numbers of ops that parts before this one have.
  PartDraws(const Coordinate& at, std::size_t before) noexcept : at_(at), before_(before) {}
  Draws operator[](std::size_t op) const noexcept { return {at_, static_cast<std::uint16_t>(before_ + op + 1)}; }
  /// For what draws with ordinals of its own.
  const Coordinate& at() const noexcept { return at_; }

 private:
  Coordinate at_;
  std::size_t before_;
};

/// Immutable once its columns are added; shared by everything that runs the plan. What is done with a sample may be
/// called by many threads at once, each with its own. An Error that names no file is about the record's part that it is
/// made of.
class PartPlan {
 public:
  /// @param of  the record's part that it is made of.
  explicit PartPlan(std::size_t place, RecordPart of = kFirstPart) noexcept : place_(place), of_(of) {}
  virtual ~PartPlan() = default;
  PartPlan(const PartPlan&) = delete;
  PartPlan& operator=(const PartPlan&) = delete;

  RecordPart of() const noexcept { return of_; }

  /// Adds what a batch holds of the part.
  virtual Status add_columns(BatchColumns& columns) = 0;
  /// Adds the columns of the part that stand behind the source's labels.
  virtual void add_target_columns(BatchColumns& /*columns*/) {}

  /// A store for what decoding learns of so many records, within some bytes; null where there is nothing to learn.
  virtual std::shared_ptr<LearnedStore> new_store(MemoryLedger& /*ledger*/, std::uint64_t /*records*/,
                                                  std::size_t /*budget*/) const {
    return nullptr;
  }
  /// Adds to a report what a store of this part's kind knows.
  virtual void report(const LearnedStore& /*learned*/, nlohmann::json& /*root*/) const {}
  /// @param learned  of the source's records, by a store of this part's kind or of another's; or null.
  virtual std::unique_ptr<PartState> new_state(MemoryLedger& ledger,
                                               const std::shared_ptr<LearnedStore>& learned) const = 0;
  /// From what was fetched to what the first op reads.
  virtual Status decode(Sample& sample, const PartDraws& draws) const = 0;
  /// Every op that is still to come, in order.
  virtual Status augment(Sample& sample, const PartDraws& draws) const = 0;

  /// Whether finish() does anything.
  virtual bool finishes() const noexcept { return false; }
  /// The batch ops, on the first `rows` rows of a finished batch.
  virtual void finish(const BatchColumns& /*columns*/, std::byte* /*slot*/, std::uint32_t /*rows*/,
                      const PartDraws& /*draws*/) const {}

  /// Whether a device can make what a batch holds of the part, from rows of an array. kUnsupported says why not.
  virtual Result<DevicePart> on_device() const;
  /// Adds to `trail` what the ops would do to a row of the array. Requires on_device().
  virtual Status note_trail(const PartDraws& draws, Scratch& scratch, Trail& trail) const;

  /// The same part in batches that a device finishes. kUnsupported says why there is none. Requires add_columns().
  virtual Result<CarriedPart> carried() const;
  /// Adds the columns that a carried part has behind all others.
  virtual void add_carried_columns(BatchColumns& /*columns*/) {}

  /// What decodes samples of the part on a device. kUnsupported says why none can; else as device/device.h.
  /// @param host  ledger of what it takes of the host's memory; outlives it, as does this plan.
  virtual Result<std::shared_ptr<LateStage>> late_stage(const std::shared_ptr<DeviceRoom>& room,
                                                        MemoryLedger& host) const;
  /// Lists a sample that was read with such a stage; see late_stage.h. False where it is for the CPU.
  /// @param augment  what comes back is its finished row, where the stage augments.
  virtual bool decode_late(Sample& sample, const PartDraws& draws, LateStage& stage, LateSink& sink,
                           bool augment) const;

  /// Where rows are made in streams (row_stream.h): those of a plan with these columns, which outlives them; else null.
  virtual const RowStreams* streams(const BatchColumns& /*columns*/) { return nullptr; }

  /// How many ops draw, batch ops among them: the parts behind draw with other numbers.
  virtual std::size_t ordinals() const noexcept = 0;
  /// Leading ops that draw nothing: the output of any of them may be what is fetched (Contents::ops).
  virtual std::size_t fixed_ops() const noexcept = 0;
  /// What else than its file shows in the record's part as it is kept in a form; nothing where it is kept as bytes.
  virtual std::optional<std::string> made_with(cache::FormId /*form*/) const { return {}; }
  /// Units of work from which on a sample is large, which is reported; see Decoded::work.
  virtual std::uint64_t large_work() const noexcept { return std::numeric_limits<std::uint64_t>::max(); }
  /// What explain() says of it.
  virtual nlohmann::json stages() const = 0;

 protected:
  std::size_t place() const noexcept { return place_; }
  PartState& state_of(const Sample& sample) const noexcept { return *sample.workspace->states[place_]; }
  PartState& state_of(const Workspace& workspace) const noexcept { return *workspace.states[place_]; }

 private:
  const std::size_t place_;  // among the plan's parts
  const RecordPart of_;
};

/// Plain and storable; nothing in it depends on the machine.
class PartSpec {
 public:
  virtual ~PartSpec() = default;
  virtual std::string_view modality() const noexcept = 0;
  /// Every field, as Modality::parse reads it.
  virtual nlohmann::json to_json() const = 0;
  /// kInvalidArgument says what does not fit, and what to do. Null where the records have nothing of it.
  /// @param name   of the part.
  /// @param place  among the plan's parts.
  virtual Result<std::shared_ptr<PartPlan>> plan(const std::string& name, std::size_t place,
                                                 const Source& source) const = 0;
};

/// A named part of each sample, described.
struct SamplePart {
  std::string name;
  std::shared_ptr<const PartSpec> spec;
};

struct Modality {
  std::string_view name;
  /// kInvalidArgument names the field that is missing, unknown or of the wrong type.
  /// @param where     names the object in messages.
  /// @param attached  what JSON cannot hold of the description, or null.
  Result<std::shared_ptr<const PartSpec>> (*parse)(const nlohmann::json& fields, const std::string& where,
                                                   const std::shared_ptr<const Attachment>& attached);
};

}  // namespace drapps
