#include "drapps/storage/file_reads.h"

namespace drapps {

Status FileReads::read(ReadRequest& request) const {
  if (kept_ == nullptr) return storage_.read(request);
  if (auto answer = kept_->find(request)) return *std::move(answer);
  request.waited = !storage_.try_read(request);
  if (request.waited) DRAPPS_RETURN_IF_ERROR(storage_.read(request));
  kept_->keep(request);
  return ok_status();
}

}  // namespace drapps
