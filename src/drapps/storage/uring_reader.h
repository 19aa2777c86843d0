// Reading through io_uring: one thread keeps `depth` files on their way.
//
// 1. A record's part goes through OPENAT, fstat, READ until it is whole, CLOSE; then comes its next part. fstat is a
//    plain call: the attributes of a file just opened are at hand, while the ring would send it to a kernel thread. A
//    shard that is kept open needs neither OPENAT nor CLOSE.
// 2. Each record on its way has a place in a fixed table, and its number is the user data of its operation: a record
//    has one operation in the ring at a time. Closing is counted but not waited for.
// 3. The ring is the thread's from its making to its end. When one is closed, the kernel interrupts every thread that
//    made it or has used it, some 20 ms later: a write() of the user's to a pipe that is full would then have written a
//    part.
// 4. The thread sleeps in the ring. An eventfd that the ring polls wakes it for new requests, a new depth or the end,
//    and is written only when the thread said that it goes to sleep with room to spare.
#pragma once

#include <liburing.h>

#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "drapps/base/unique_handle.h"
#include "drapps/exec/service_thread.h"
#include "drapps/storage/read_file.h"

namespace drapps {

class UringReader final : public Reader {
 public:
  /// kUnsupported where the kernel, a sandbox or a limit refuses the ring or one of the operations.
  static Result<std::unique_ptr<Reader>> make(const ReaderOptions& options, ReadSink& sink);
  ~UringReader() override;

  void submit(ReadRequest& request) override;
  void set_depth(int depth) override;
  ReaderKind kind() const noexcept override { return ReaderKind::kUring; }

 private:
  /// A ring, opened and closed by the thread that uses it.
  class Ring {
   public:
    Ring() = default;
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    ~Ring() = default;
    Status open();
    void close() noexcept {
      if (std::exchange(open_, false)) io_uring_queue_exit(&ring_);
    }
    io_uring* get() noexcept { return &ring_; }

   private:
    io_uring ring_{};
    bool open_ = false;
  };

  /// One record on its way.
  struct Flight {
    ReadRequest* request = nullptr;
    RecordPart part = kFirstPart;
    PartFile file;           // open while its bytes are read
    ByteRange range;         // of the part in it
    std::uint64_t done = 0;  // bytes read of the part

    const Location& location() const noexcept { return request->at[part]; }
  };

  UringReader(const ReaderOptions& options, ReadSink& sink);

  void serve();
  void take_requests();
  bool sleep_until_completion();
  void handle(const io_uring_cqe& completion);
  template <class Step>
  void attempt(std::size_t place, const Step& step);
  void begin_part(std::size_t place);
  void open_file(std::size_t place, int flags);
  void opened(std::size_t place, int result);
  void begin_read(std::size_t place);
  void read_more(std::size_t place);
  void received(std::size_t place, int result);
  void read_whole(std::size_t place);
  void part_done(std::size_t place, Status status);
  void finish(std::size_t place, Status status);
  void close_file(Flight& flight);
  void watch_wake();
  void wake() noexcept;
  io_uring_sqe* entry();

  const ReadLimits limits_;
  ReadSink& sink_;
  Ring ring_;
  UniqueHandle event_;

  // The ring thread's own.
  std::vector<Flight> flights_;
  std::vector<std::size_t> free_;
  std::size_t closing_ = 0;
  std::uint64_t cpu_mark_ = 0;  // CPU time of the thread up to here is accounted for

  std::mutex mutex_;  // guards the rest
  ReadQueue queue_;
  int depth_;
  bool asleep_ = false;  // with room for another request: the next submit() wakes the thread
  bool stopping_ = false;

  ServiceThread thread_;
};

}  // namespace drapps
