// What a thread keeps from one call to the next.
#pragma once

namespace dt {

class ActivityNotes;
struct BlockCache;
struct Context;
class Node;

// One object for all of it, found by one look. It needs neither constructor nor destructor, so that
// calls work while the thread ends and while the process does; `end_thread` frees what it points
// to.
struct Thread {
  Context* context;      // in force; null: none has been asked for yet
  Context* own_context;  // in force where no other one is; made when it is first needed
  BlockCache* blocks;    // made when something is first freed or allocated
  ActivityNotes* notes;  // the latest for a profiler
  Node* dead_nodes;      // waiting to be deleted by the outermost Node::destroy
  bool is_freeing_nodes;
  bool is_logging;
  bool is_refreshing_views;
  int ends;  // how often end_thread has run
};

// `__thread` rather than `thread_local`, for which every file would have to ask whether there is a
// constructor. A look costs a call where the library is shared. The kind of thread-local memory
// that needs none (initial-exec, DF_STATIC_TLS) comes from a small supply that all libraries of the
// process share: a third copy of this one could not be opened.
extern __thread Thread this_thread __attribute__((visibility("hidden")));

// Has end_thread called when the thread ends. Throws std::bad_alloc.
void watch_thread();

// Whether nothing that the thread makes now would ever be freed.
bool has_thread_ended();

}  // namespace dt
