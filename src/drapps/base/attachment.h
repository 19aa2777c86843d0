// What belongs to a description and that JSON cannot hold.
#pragma once

namespace drapps {

/// Each modality knows its own kinds of attachments.
class Attachment {
 public:
  virtual ~Attachment() = default;
};

}  // namespace drapps
