/* hopbytes: blocks of a graph for the processing elements (PEs) of a machine, from C, C++ and Fortran.
 *
 * One call divides the vertices of a graph into k blocks of bounded load so that the sum over edges of
 * weight x distance between the blocks of the two ends is small. Without a machine all blocks are equally far
 * from each other, and the sum is the edge cut.
 *
 * The library never prints, never ends the process and writes no files. Every argument is checked. All
 * functions may be called by several threads at the same time. The same arguments give the same blocks on
 * every processor and for any number of threads, unless a time limit ends a search. Threads of a call are
 * kept for the next one, and end after milliseconds without work. */
#ifndef HOPBYTES_H
#define HOPBYTES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HOPBYTES_API __attribute__((visibility("default")))
#else
#define HOPBYTES_API
#endif

/* What the functions return. Below 0 nothing was written. */
enum hopbytes_status {
  HOPBYTES_OK = 0,
  HOPBYTES_OVERLOADED = 1,    /* blocks were written, but no way was found to keep the bound of each */
  HOPBYTES_NULL = -1,         /* a pointer that is needed is null */
  HOPBYTES_BAD_SIZE = -2,     /* n, or the rows of the graph: they begin at `base` and do not descend */
  HOPBYTES_BAD_INDEX = -3,    /* a target is no vertex */
  HOPBYTES_BAD_WEIGHT = -4,   /* a weight or a load is negative */
  HOPBYTES_ASYMMETRIC = -5,   /* an edge is missing in one direction, or has two weights */
  HOPBYTES_TOO_LARGE = -6,    /* weights x distances sum to more than 2^59, or loads to more than 2^62 */
  HOPBYTES_BAD_MACHINE = -7,  /* the text of the machine, or k, which is at least 1 and at most its PEs */
  HOPBYTES_BAD_OPTION = -8,   /* imbalance, threads, time limit, capacity, base or bits */
  HOPBYTES_BAD_FIXED = -9,    /* a vertex is fixed to a block that does not exist */
  HOPBYTES_NO_MEMORY = -10,
  HOPBYTES_INTERNAL = -11     /* a mistake of the library */
};

/* An undirected graph in compressed sparse rows: both directions of every edge are stored. Rows may be
 * unsorted. Repeated targets count as one edge of the summed weight; loops and edges of weight 0 are left
 * out. */
typedef struct hopbytes_graph {
  int64_t n;           /* number of vertices, 0 to 2^31 - 2 */
  const void *rows;    /* n + 1 offsets into `targets`: row v is rows[v] .. rows[v + 1] - 1 */
  const void *targets; /* the neighbours of every vertex */
  const void *weights; /* of the entries of `targets`, >= 0; null: 1 each */
  const void *loads;   /* of the vertices, >= 0; null: 1 each */
  int32_t index_bits;  /* 32 or 64: the size of the integers of `rows` and `targets` */
  int32_t weight_bits; /* 32 or 64: that of `weights` and `loads` */
  int32_t base;        /* the number of the first vertex, offset and block, 0 or 1 */
} hopbytes_graph;

/* To be filled by hopbytes_default_options first. */
typedef struct hopbytes_options {
  int64_t k;               /* number of blocks; 0: that of the PEs of `machine` */
  const char *machine;     /* levels, outermost first, "node:8@10 core:4@1": 8 nodes of 4 cores, two PEs of
                              different nodes 10 apart, of one node 1. Without @ distances are 1, 10, 100 ...
                              from the innermost level on. "core:[4,2]" gives the parents different numbers.
                              Null: k blocks, all 1 apart. With k below the number of PEs the first k are
                              used. */
  const int64_t *capacity; /* k shares of the load, 1 to 2^31 - 1; null: equal */
  double imbalance;        /* a block may hold (1 + imbalance) times its share of the load, and the share
                              rounded up; 0 to 7, rounded to nine decimals, 0.03 by default. A vertex that is
                              heavier fills a block. */
  uint64_t seed;           /* 0 by default */
  int32_t threads;         /* 1 to 1024; 1 by default */
  double time_limit;       /* seconds after which the search ends with what it has; 0, the default: none */
  const int32_t *fixed;    /* the block of each vertex that is fixed to one, a number below `base` for the
                              others. Fixed vertices are never elsewhere, also if they overload their block.
                              Null: all are free */
  int32_t effort;          /* 0, the default: one hierarchy of coarser graphs; -1: fewer refinements, half to
                              two thirds of the time for more cost; 1: the graph is divided anew at every
                              level of the machine, up to twice the time for less cost if bounds are tight */
} hopbytes_options;

typedef struct hopbytes_result {
  int64_t cost;     /* sum of weight x distance over edges, each edge once */
  int64_t cut;      /* sum of the weights of the edges between blocks */
  double imbalance; /* the largest load of a block over its share, less 1 */
  int64_t moved;    /* vertices that were moved after the search to keep bounds or to fill an empty block */
} hopbytes_result;

HOPBYTES_API void hopbytes_default_options(hopbytes_options *options);

/* Writes the block of every vertex, base .. base + k - 1, to `part`, which has n entries; `result` may be
 * null. With n > k every block has a vertex, unless too many are fixed. With n <= k loads do not count: the
 * first n blocks get a vertex each; if vertices are fixed to later ones, blocks up to the last of them get
 * at most one free vertex each. */
HOPBYTES_API int hopbytes_map(const hopbytes_graph *graph, const hopbytes_options *options, int32_t *part,
                              hopbytes_result *result);

/* A sentence about a status, which stays valid. */
HOPBYTES_API const char *hopbytes_message(int status);

/* "0.1.0" */
HOPBYTES_API const char *hopbytes_version(void);

#ifdef __cplusplus
}
#endif
#endif
