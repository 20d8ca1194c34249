/* The posts of the shm backend: flags with a sequence number, a payload beside them, a ring of slots, and no barrier
   after an operation. Ranks run the same operations, of which each is symmetric (all post, all read all) or a broadcast
   (one posts and goes on, the others read). Checked for every interleaving and every choice of operations:
   - who reads a payload finds the one of the operation that it is in, whole;
   - nobody waits for ever.
   FAULT_NO_ROOM drops the wait for a free slot, FAULT_FLAG_FIRST stores the flag before the payload: both must be found. */

#ifndef RANKS
#define RANKS 3
#endif
#ifndef OPERATIONS
#define OPERATIONS 5
#endif
#define DEPTH 2      /* slots of each rank; the real ring is deeper, which only lets ranks run further apart */
#define SYMMETRIC RANKS /* or the number of the root */

byte kind[OPERATIONS + 1];

typedef Rank {
  byte flag[DEPTH];     /* Post::sequence */
  byte first[DEPTH];    /* the payload, in two stores: a reader must never see half of one */
  byte second[DEPTH];
  byte finished;        /* Finished::sequence */
};
Rank rank[RANKS];
byte started = 0;

inline await_all_left(limit) {
  other = 0;
  do
  :: other < RANKS && other != me ->
     rank[other].finished >= limit;  /* blocks until it holds */
     other++
  :: other < RANKS && other == me -> other++
  :: else -> break
  od;
  if
  :: limit > all_left -> all_left = limit
  :: else
  fi
}

inline post() {
#ifndef FAULT_NO_ROOM
  if
  :: s > all_left + DEPTH -> await_all_left(s - DEPTH)
  :: else
  fi;
#endif
#ifdef FAULT_FLAG_FIRST
  rank[me].flag[s % DEPTH] = s;
#endif
  rank[me].first[s % DEPTH] = s;
  rank[me].second[s % DEPTH] = s;
  rank[me].flag[s % DEPTH] = s
}

inline read_post(from) {
  rank[from].flag[s % DEPTH] >= s;
  assert(rank[from].flag[s % DEPTH] == s);
  assert(rank[from].first[s % DEPTH] == s);
  assert(rank[from].second[s % DEPTH] == s);
  /* copying takes time: the second look stands for the last byte */
  assert(rank[from].first[s % DEPTH] == s)
}

proctype participant(byte me) {
  byte s = 1;
  byte all_left = 0;
  byte other;
  started == 1;
  do
  :: s <= OPERATIONS ->
     if
     :: kind[s] == SYMMETRIC ->
        post();
        other = 0;
        do
        :: other < RANKS && other != me -> read_post(other); other++
        :: other < RANKS && other == me -> other++
        :: else -> break
        od;
        if
        :: s - 1 > all_left -> all_left = s - 1  /* who has posted s has left s - 1 */
        :: else
        fi
     :: kind[s] == me -> post()
     :: else -> read_post(kind[s])
     fi;
     rank[me].finished = s;
     s++
  :: else -> break
  od
}

init {
  byte i = 1;
  byte r;
  do
  :: i <= OPERATIONS -> select(r : 0 .. SYMMETRIC); kind[i] = r; i++
  :: else -> break
  od;
  atomic {
    r = 0;
    do
    :: r < RANKS -> run participant(r); r++
    :: else -> break
    od;
    started = 1
  }
}
