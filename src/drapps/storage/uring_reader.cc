#include "drapps/storage/uring_reader.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"

namespace drapps {
namespace {

// In one turn a record closes one file and opens the next, and a new one may take its place.
constexpr unsigned kEntries = 1024;
static_assert(kEntries > 3 * kMaxReadDepth);

// User data: a place in the table, or one of these.
constexpr std::uint64_t kWake = ~std::uint64_t{0};
constexpr std::uint64_t kClosed = kWake - 1;

constexpr std::uint64_t kLargestRead = std::uint64_t{1} << 30;

Error unsupported(const std::string& why) {
  return Error{.code = ErrorCode::kUnsupported,
               .message = "io_uring is not available: " + why + "; use DRAPPS_IO=pread"};
}

std::string text_of(int error_number) { return std::generic_category().message(error_number); }

}  // namespace

Status UringReader::Ring::open() {
  // Completions are handled when the thread asks for them; older kernels do not know how to spare it the interrupts.
  int result = io_uring_queue_init(kEntries, &ring_, IORING_SETUP_COOP_TASKRUN);
  if (result == -EINVAL) result = io_uring_queue_init(kEntries, &ring_, 0);
  if (result < 0) return unsupported(text_of(-result));
  open_ = true;
  io_uring_probe* const probe = io_uring_get_probe_ring(&ring_);
  bool complete = probe != nullptr;
  for (const int operation : {IORING_OP_OPENAT, IORING_OP_READ, IORING_OP_CLOSE, IORING_OP_POLL_ADD}) {
    complete = complete && io_uring_opcode_supported(probe, operation) != 0;
  }
  io_uring_free_probe(probe);
  if (!complete) return unsupported("this kernel cannot open and read files through it");
  return ok_status();
}

Result<std::unique_ptr<Reader>> UringReader::make(const ReaderOptions& options, ReadSink& sink) {
  std::unique_ptr<UringReader> reader(new UringReader(options, sink));
  if (!reader->event_) return unsupported("no eventfd: " + text_of(errno));
  UringReader* const self = reader.get();
  const auto opened = std::make_shared<std::promise<Status>>();
  std::future<Status> ready = opened->get_future();
  Result<ServiceThread> thread = ServiceThread::start("drapps-uring", [self, opened](const std::stop_token&) {
    Status status = catching([self] { return self->ring_.open(); });
    const bool serves = status.ok();
    opened->set_value(std::move(status));
    if (serves) self->serve();
    self->ring_.close();
  });
  if (!thread.ok()) return std::move(thread).error();
  reader->thread_ = std::move(*thread);
  DRAPPS_RETURN_IF_ERROR(ready.get());
  return std::unique_ptr<Reader>(std::move(reader));
}

UringReader::UringReader(const ReaderOptions& options, ReadSink& sink)
    : limits_(options.limits),
      sink_(sink),
      event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      flights_(kMaxReadDepth),
      depth_(std::clamp(options.depth, 1, kMaxReadDepth)) {
  free_.reserve(kMaxReadDepth);
  for (std::size_t place = kMaxReadDepth; place-- > 0;) free_.push_back(place);
}

UringReader::~UringReader() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
  while (ReadRequest* const request = queue_.pop()) cancel(*request, sink_);
}

void UringReader::submit(ReadRequest& request) {
  if (complete_from_memory(request, sink_)) return;
  bool wake_it = false;
  bool stopping = false;
  {
    const std::lock_guard lock(mutex_);
    stopping = stopping_;
    if (!stopping) queue_.push(request);
    wake_it = std::exchange(asleep_, false);
  }
  if (wake_it) wake();
  if (stopping) cancel(request, sink_);
}

void UringReader::set_depth(int depth) {
  {
    const std::lock_guard lock(mutex_);
    depth_ = std::clamp(depth, 1, kMaxReadDepth);
  }
  wake();
}

void UringReader::wake() noexcept {
  // The counter cannot overflow, since the ring thread empties it, and a descriptor of our own is always writable.
  (void)::eventfd_write(event_.get(), 1);
}

void UringReader::serve() {
  watch_wake();
  do {
    take_requests();
  } while (sleep_until_completion());
}

/// Takes a record one step further. What that throws is thrown before the record is finished, and finishes it here.
template <class Step>
void UringReader::attempt(std::size_t place, const Step& step) {
  if (Status status = catching(step); !status.ok()) finish(place, std::move(status));
}

void UringReader::take_requests() {
  while (true) {
    const std::size_t in_flight = flights_.size() - free_.size();
    ReadRequest* request = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (!stopping_ && in_flight < static_cast<std::size_t>(depth_)) request = queue_.pop();
      asleep_ = request == nullptr && in_flight < static_cast<std::size_t>(depth_);
    }
    if (request == nullptr) return;
    const std::size_t place = free_.back();
    free_.pop_back();
    Flight& flight = flights_[place];
    flight.request = request;
    flight.part = kFirstPart;
    request->begun_ns = monotonic_ns();
    request->cpu_ns = 0;
    attempt(place, [&] { begin_part(place); });
  }
}

/// Hands in what was prepared and handles what came back. False when all is done and the reader is closing.
bool UringReader::sleep_until_completion() {
  if (free_.size() == flights_.size() && closing_ == 0) {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
  }
  // A failure here (a signal, a full completion queue, the kernel short of memory) passes once completions are taken,
  // and what could not be handed in stays in the ring for the next turn.
  (void)io_uring_submit_and_wait(ring_.get(), 1);
  io_uring_cqe* completion = nullptr;
  while (io_uring_peek_cqe(ring_.get(), &completion) == 0) {
    const io_uring_cqe copy = *completion;
    io_uring_cqe_seen(ring_.get(), completion);
    handle(copy);
  }
  return true;
}

void UringReader::handle(const io_uring_cqe& completion) {
  if (completion.user_data == kWake) {
    eventfd_t count = 0;
    (void)::eventfd_read(event_.get(), &count);
    watch_wake();
    return;
  }
  if (completion.user_data == kClosed) {
    --closing_;
    return;
  }
  const auto place = static_cast<std::size_t>(completion.user_data);
  attempt(place, [&] { flights_[place].file ? received(place, completion.res) : opened(place, completion.res); });
}

void UringReader::begin_part(std::size_t place) {
  Flight& flight = flights_[place];
  if (flight.location().path == nullptr) return part_done(place, answer_from_memory(*flight.request, flight.part));
  if (flight.file.find(flight.location())) return begin_read(place);
  open_file(place, kOpenFlags);
}

void UringReader::open_file(std::size_t place, int flags) {
  io_uring_sqe* const sqe = entry();
  io_uring_prep_openat(sqe, AT_FDCWD, flights_[place].location().path, flags, 0);
  io_uring_sqe_set_data64(sqe, place);
}

void UringReader::opened(std::size_t place, int result) {
  Flight& flight = flights_[place];
  if (result == -EINTR || result == -EAGAIN) return open_file(place, kOpenFlagsAgain);
  if (result < 0) return finish(place, about(io_error(-result, "open the file"), *flight.request, flight.part));
  // The flag has kept a FIFO from blocking; in the ring it would make a read that has to wait fail instead.
  (void)::fcntl(result, F_SETFL, 0);
  flight.file.take(result, flight.location());
  begin_read(place);
}

void UringReader::begin_read(std::size_t place) {
  Flight& flight = flights_[place];
  Result<ByteRange> range = inspect(flight.file.get(), flight.location(), limits_);
  if (!range.ok()) return finish(place, about(std::move(range).error(), *flight.request, flight.part));
  Status room = flight.request->into[flight.part]->ensure(range->bytes);
  if (!room.ok()) return finish(place, about(std::move(room).error(), *flight.request, flight.part));
  flight.range = *range;
  flight.done = 0;
  read_more(place);
}

void UringReader::read_more(std::size_t place) {
  Flight& flight = flights_[place];
  const std::uint64_t left = std::min(flight.range.bytes - flight.done, kLargestRead);
  std::uint8_t* const to = flight.request->into[flight.part]->data() + flight.done;
  io_uring_sqe* const sqe = entry();
  io_uring_prep_read(sqe, flight.file.get(), to, static_cast<unsigned>(left), flight.range.offset + flight.done);
  io_uring_sqe_set_data64(sqe, place);
}

void UringReader::received(std::size_t place, int result) {
  Flight& flight = flights_[place];
  ReadRequest& request = *flight.request;
  if (result == -EINTR || result == -EAGAIN) return read_more(place);
  if (result == 0 && flight.range.to_end) {
    Status ended = end_range(flight.range, flight.done);
    return ended.ok() ? read_whole(place) : finish(place, about(std::move(ended).error(), request, flight.part));
  }
  if (result <= 0) {
    Error error = result == 0 ? shrunk(flight.done, flight.range) : io_error(-result, "read the file");
    error.offset = static_cast<std::int64_t>(flight.done);
    return finish(place, about(std::move(error), request, flight.part));
  }
  flight.done += static_cast<std::uint64_t>(result);
  if (flight.done < flight.range.bytes) return read_more(place);
  if (!flight.range.to_end) return read_whole(place);
  Status grown = grow_range(flight.range, *request.into[flight.part], limits_);
  if (!grown.ok()) return finish(place, about(std::move(grown).error(), request, flight.part));
  flight.done = 0;
  read_more(place);
}

/// All bytes of a part are there.
void UringReader::read_whole(std::size_t place) {
  Flight& flight = flights_[place];
  ReadRequest& request = *flight.request;
  const RecordPart part = flight.part;
  request.bytes[part] = {request.into[part]->data(), flight.range.bytes};
  request.identity[part] = flight.range.identity;
  request.state[part] = flight.range.state;
  part_done(place, ok_status());
}

void UringReader::part_done(std::size_t place, Status status) {
  Flight& flight = flights_[place];
  if (!status.ok() || flight.part + 1 == flight.request->parts) {
    return finish(place, std::move(status));
  }
  close_file(flight);
  ++flight.part;
  begin_part(place);
}

void UringReader::finish(std::size_t place, Status status) {
  Flight& flight = flights_[place];
  close_file(flight);
  ReadRequest& request = *std::exchange(flight.request, nullptr);
  request.wall_ns = monotonic_ns() - request.begun_ns;
  const std::uint64_t cpu = thread_cpu_ns();
  request.cpu_ns = cpu - std::exchange(cpu_mark_, cpu);
  free_.push_back(place);
  sink_.read_done(request, std::move(status));
}

void UringReader::close_file(Flight& flight) {
  UniqueHandle file = flight.file.release();
  if (!file) return;
  io_uring_sqe* const sqe = entry();
  io_uring_prep_close(sqe, file.release());
  io_uring_sqe_set_data64(sqe, kClosed);
  ++closing_;
}

void UringReader::watch_wake() {
  io_uring_sqe* const sqe = entry();
  io_uring_prep_poll_add(sqe, event_.get(), POLLIN);
  io_uring_sqe_set_data64(sqe, kWake);
}

io_uring_sqe* UringReader::entry() {
  io_uring_sqe* sqe = io_uring_get_sqe(ring_.get());
  while (sqe == nullptr) {  // only where the kernel took less than it was offered
    (void)io_uring_submit(ring_.get());
    sqe = io_uring_get_sqe(ring_.get());
  }
  return sqe;
}

}  // namespace drapps
