#include "drapps/control/control.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/policy/registry.h"

namespace drapps {

Control::~Control() {
  if (ControlState* own = own_.get()) own->recording.end(nullptr);
}

void Control::enter() {
  if (own_.get() == nullptr) own_.set(std::make_unique<ControlState>());
}

std::unique_lock<std::mutex> Control::lock() const {
  ControlState* own = own_.get();
  return own == nullptr ? std::unique_lock<std::mutex>() : std::unique_lock(own->mutex);
}

void Control::begin(std::shared_ptr<Plant> plant, SampleTap sampling) {
  enter();
  ControlState& own = *own_.get();
  const auto guard = lock();
  auto client = std::make_shared<Client>(std::move(plant), *make_policy(policy_), &Shares::of_process(), policy_,
                                         &Meters::of_process());
  if (frozen_) client->freeze();
  own.sampling = std::move(sampling);
  own.client = std::move(client);
  if (own.recording.follow(*own.client, own.sampling.take) && own.sampling.keep) own.sampling.keep(true);
}

std::shared_ptr<Client> Control::client() const {
  const auto guard = lock();
  return own_.get() == nullptr ? nullptr : own_.get()->client;
}

Status Control::set_policy(PolicyConfig config) {
  auto policy = make_policy(config);
  if (!policy.ok()) return std::move(policy).error();
  const auto guard = lock();
  policy_ = std::move(config);
  if (ControlState* own = own_.get(); own != nullptr && own->client != nullptr)
    own->client->swap(*std::move(policy), policy_);
  return ok_status();
}

void Control::freeze(bool frozen) {
  const auto guard = lock();
  frozen_ = frozen;
  if (ControlState* own = own_.get(); own != nullptr && own->client != nullptr)
    frozen ? own->client->freeze() : own->client->unfreeze();
}

nlohmann::json Control::log() const {
  const auto guard = lock();
  const ControlState* own = own_.get();
  const bool begun = own != nullptr && own->client != nullptr;
  nlohmann::json log = begun ? own->client->log().to_json() : DecisionLog(policy_.name).to_json();
  log["learning"] = begun ? own->client->learning() : nlohmann::json();
  return log;
}

nlohmann::json Control::learning() const {
  const auto own = client();
  return own == nullptr ? nlohmann::json() : own->learning();
}

Status Control::record(const std::string& path, std::string_view about) {
  return catching([&]() -> Status {
    enter();
    ControlState& own = *own_.get();
    const auto guard = lock();
    if (own.client == nullptr) return own.recording.begin(path, about, nullptr);
    DRAPPS_RETURN_IF_ERROR(own.recording.begin(path, about, own.client.get(), own.sampling.take));
    if (own.sampling.keep) own.sampling.keep(true);
    return ok_status();
  });
}

void Control::stop_recording() {
  ControlState* own = own_.get();
  if (own == nullptr) return;
  const auto client = [&] {
    const auto guard = lock();
    if (own->client != nullptr && own->sampling.keep) own->sampling.keep(false);
    return own->client;
  }();
  own->recording.end(client.get());
}

std::string Control::take_warning() const {
  ControlState* own = own_.get();
  return own == nullptr ? std::string() : own->recording.take_warning();
}

}  // namespace drapps
