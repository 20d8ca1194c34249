// Which sanitizer this is compiled for: GCC says so with a macro, clang by a question that GCC cannot even read.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define COBRE_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COBRE_ADDRESS_SANITIZER
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define COBRE_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COBRE_THREAD_SANITIZER
#endif
#endif
