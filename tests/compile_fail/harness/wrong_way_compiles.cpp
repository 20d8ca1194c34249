// expect: nothing, for nothing is wrong
int main() {}
