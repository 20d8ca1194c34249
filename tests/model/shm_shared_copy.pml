/* The copy that two ranks of the shm backend share: the taker reads pieces from the front, the giver writes pieces from
   the back, one word counts the claims of both. The taker may give up its place while the giver still writes, and takes
   the offer to another place alone; with LEAVES_EARLY also before all is claimed. With GIVES_UP the giver may give up the offer at any moment, with DIES die.
   Checked for every interleaving: no piece is copied twice into one place or left out of what was delivered, nothing is
   written into a place that its owner has left, nothing is delivered of what was withdrawn before, and nobody waits for
   ever. Each step on the word is one compare-and-swap or less, and everything else is ordered by it, so interleavings
   are all that there is to see.
   FAULT_NO_WAIT lets the taker leave while the giver writes, FAULT_SPLIT_CLAIM makes the giver load and store the word
   instead of comparing and swapping it, FAULT_NO_SHUT lets it claim on while the taker leaves: all must be found. */

#define PIECES 3

byte front = 0;            /* the word: claims from either end, … */
byte back = 0;
bool opened = false;       /* … and whether the giver may claim */
bool busy = false;         /* the taker has not closed it */
bool withdrawn = false;
byte put = 0;              /* pieces that the giver has written */
bool alive = true;

byte place = 1;            /* which of its two places the taker offers; 0: none */
byte copied[3 * PIECES];   /* by place: how often each piece was copied there */
bool left[3];              /* places that their owner uses for something else */
bool delivered = false;

proctype giver() {
  byte seen_front, seen_back, target, piece;
  do
  :: delivered || withdrawn -> break
  :: opened && front + back < PIECES && !withdrawn ->
     target = place;                       /* stored before the word was opened */
#ifdef FAULT_SPLIT_CLAIM
     seen_front = front;
     seen_back = back;
     if
     :: opened && seen_front + seen_back < PIECES -> back = seen_back + 1; piece = PIECES - 1 - seen_back
     :: else -> goto next
     fi;
#else
     d_step { seen_front = front; seen_back = back };
     if
     :: d_step { opened && !withdrawn && front == seen_front && back == seen_back && front + back < PIECES -> back++; piece = PIECES - 1 - seen_back }
     :: else -> goto next
     fi;
#endif
     if
     :: true ->
        d_step { assert(!left[target]); copied[3 * target - 3 + piece]++ };
        put++
#ifdef DIES
     :: alive = false; break               /* over it, its claim held */
#endif
     fi;
next: skip
#ifdef DIES
  :: true -> alive = false; break
#endif
#ifdef GIVES_UP
  :: true -> withdrawn = true              /* not while it writes */
#endif
  od
}

proctype taker() {
  byte mine;
again: skip;
  d_step { if :: !withdrawn -> busy = true; opened = (place == 1); front = 0; back = 0 :: else fi };
  if
  :: !busy -> goto end_taker
  :: else
  fi;
  do
  :: withdrawn -> goto end_taker
  :: d_step { !withdrawn && front + back < PIECES -> mine = front; front++ };
     copied[3 * place - 3 + mine]++
  :: d_step { !withdrawn && front + back >= PIECES -> opened = false };
     break
#ifdef LEAVES_EARLY
  :: place == 1 -> goto leave
#endif
  od;
  /* All is claimed. Either it is all there, or the time is up. */
  if
  :: put >= back || place == 2 ->
     d_step {
       if
       :: !withdrawn && alive ->
          delivered = true;
          assert(copied[3 * place - 3] == 1 && copied[3 * place - 2] == 1 && copied[3 * place - 1] == 1)
       :: else
       fi
     };
     goto end_taker
  :: place == 1 ->
leave: skip;
#ifndef FAULT_NO_SHUT
     opened = false;
#endif
#ifndef FAULT_NO_WAIT
     put >= back || !alive || withdrawn;
#endif
     d_step { left[1] = true; busy = false; place = 2 };
     goto again
  :: !alive || withdrawn
  fi;
end_taker:
  skip
}

init {
  atomic { run giver(); run taker() }
}
