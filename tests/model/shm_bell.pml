/* The bell of the shm backend: who publishes stores a word and looks whether anyone sleeps, with no fence between the
   two; who goes to sleep counts itself, makes every processor pass a fence, and looks at the word once more. Processors
   have store buffers: a store becomes visible some time after it was executed, in order, and a load may overtake it.
   Checked for every interleaving: nobody sleeps for ever.
   FAULT_NO_FENCE drops the fence of the sleeper, FAULT_RINGS_LATE reads the number of rings after the last look at the
   word: both must be found. */

#define ROUNDS 3

byte word = 0;             /* what is waited for, as memory has it */
byte buffered[ROUNDS];     /* the publisher's store buffer */
byte buffered_count = 0;
byte sleepers = 0;
byte rings = 0;
bool asleep = false;       /* in the kernel, on `rings` */

inline drain_one() {
  d_step {
    word = buffered[0];
    buffered[0] = buffered[1];
    buffered[1] = buffered[2];
    buffered_count--
  }
}

/* The hardware: stores leave the buffer when they like. */
proctype memory() {
end:
  do
  :: buffered_count > 0 -> drain_one()
  od
}

proctype publisher() {
  byte i = 1;
  do
  :: i <= ROUNDS ->
     d_step { buffered[buffered_count] = i; buffered_count++ };  /* the store, so far only in the buffer */
     if
     :: sleepers > 0 ->
        /* A read-modify-write drains the buffer first; then the kernel wakes who sleeps. */
        buffered_count == 0;
        d_step { rings++; asleep = false }
     :: else
     fi;
     i++
  :: else -> break
  od
}

proctype sleeper() {
  byte i = 1;
  byte seen;
  do
  :: i <= ROUNDS ->
     do
     :: word >= i -> break
     :: else ->
        sleepers++;
#ifndef FAULT_NO_FENCE
        buffered_count == 0;   /* membarrier: every processor's buffer has been empty once before this goes on */
#endif
#ifdef FAULT_RINGS_LATE
        if
        :: word < i ->
           seen = rings;
           d_step { if :: rings == seen -> asleep = true :: else fi };
           !asleep
        :: else
        fi;
#else
        seen = rings;
        if
        :: word < i ->
           d_step { if :: rings == seen -> asleep = true :: else fi };  /* futex: sleeps only if nothing changed */
           !asleep
        :: else
        fi;
#endif
        sleepers--
     od;
     i++
  :: else -> break
  od
}

init {
  atomic { run memory(); run publisher(); run sleeper() }
}
