// Loaded before an MPI library, makes it one that grants no threads: there is none among Debian's.

extern "C" {

int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided);

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  *provided = 0;  // MPI_THREAD_SINGLE, of Open MPI and of MPICH
  return code;
}

int MPI_Query_thread(int* provided) {
  *provided = 0;
  return 0;
}
}
