// expect: misspelt
int main() {
  return misspelt;
}
