// expect: another_message
int main() {
#ifndef FIXED
  static_assert(sizeof(int) == 0, "this message");  // another_message
#endif
}
