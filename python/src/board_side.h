// drapps._core.Board: the board of worker processes as its parent sees it, or as one of its workers does.
#pragma once

#include <memory>
#include <stdexcept>

#include "drapps/worker/board.h"
#include "drapps/worker/board_client.h"

namespace drapps {

/// The parent's side of a board, or a worker's: one of the two is there.
struct Side {
  std::shared_ptr<Board> board;
  std::unique_ptr<BoardClient> client;
};

inline const std::shared_ptr<Board>& parent_board(const Side& side) {
  if (side.board == nullptr || !side.board->memory()->mine()) {
    throw std::runtime_error("only the process that made the board may do this");
  }
  return side.board;
}

}  // namespace drapps
