/* What the programs on samples and `samples_session.rs` share. */
#pragma once
#include "kernel.h"

#define IMAGES 4
#define KINDS 16
#define EDGES 4

/* Bytes of the stack that are copied, and of one object's variable part. */
#define SAMPLED_STACK (48 << 10)
#define LARGEST_PART (128 << 10)
/* Where pieces may begin, bytes: a power of two. */
#define PIECES (256 << 10)

/* A pointer in an object. */
struct edge {
	u16 at;
	/* the kind of the object to which it leads */
	u8 to;
	/* followed only the first time that this object is seen with these contents */
	u8 rare;
};

/* A kind of objects, and what is copied of them. */
struct kind {
	/* from its beginning; a multiple of 8 */
	u16 bytes;
	u8 edges;
	/* a string of V8: its map says where and how long its characters are */
	u8 is_string;
	/* its contents are remembered: see `rare` */
	u8 is_once;
	/* The words from `words_from` on may be rare pointers to such objects. If the number at `count_at` is at least
	 * `many`, those that matter are as many words further. */
	u8 words_to;
	u16 words_from;
	/* a number of 32 bits that says how much follows: so many times `unit` bytes, unless these are more than `most` */
	u16 count_at;
	u16 unit;
	u32 most;
	u32 many;
	struct edge edge[EDGES];
};

/* An interpreter, by its executable file. */
struct image {
	u64 inode;
	u64 size;
	/* The bits of a pointer that are no part of the address, and what they must be. */
	u64 tag_mask;
	u64 tag;
	/* Of V8: where a frame has its bytecode, from the frame pointer; where a map has the type of its objects; what it says
	 * of strings. */
	s64 bytecode;
	u32 type_at;
	u32 length_at;
	u16 representation;
	u16 one_byte;
	/* the kinds of a function and of bytecode */
	u16 function;
	u16 of_bytecode;
	struct kind kind[KINDS];
};

struct samples_session {
	/* our process, of which no samples are wanted, and our namespace of process ids */
	u32 ours;
	u32 namespace;
	/* counts the runs */
	u32 run;
	/* changes when contents were remembered that no sample has */
	u32 forgotten;
	/* samples for which the ring had no room */
	u64 lost;
	/* how long the program ran, nanoseconds, and how often */
	u64 nanos;
	u64 samples;
	struct image image[IMAGES];
};

#define REGISTERS 34

/* A sample. Pieces follow: the stack, then the objects. */
struct sample {
	u64 at;
	u32 pid;
	u32 tid;
	/* the number of the image plus one; 0: none */
	u32 image;
	/* objects for which there was no room */
	u32 cut;
	u32 stack;
	u32 bytes;
	u64 registers[REGISTERS];
};

/* Before the bytes of a piece of memory, which are rounded up to words. */
struct piece {
	u64 address;
	u32 bytes;
	u32 padding;
};
