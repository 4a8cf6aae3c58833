/* A library in the place of NVIDIA's driver, of which the tests have none: memory that no processor
 * may read, memory that both may, and the driver's answer about both. */
#include <stdint.h>
#include <sys/mman.h>

enum { BYTES = 1 << 21, MEMORY_TYPE = 2, DEVICE = 2, SUCCESS = 0, INVALID_VALUE = 1 };

static uintptr_t begin;

/* Two pieces of BYTES: the first one is the device's alone. */
void *fake_memory(void) {
    if (begin == 0) {
        char *memory = mmap(0, 2 * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(memory + BYTES, BYTES, PROT_READ | PROT_WRITE);
        begin = (uintptr_t)memory;
    }
    return (void *)begin;
}

int cuPointerGetAttribute(unsigned *answer, unsigned attribute, unsigned long long address) {
    if (attribute != MEMORY_TYPE || begin == 0 || address - begin >= 2 * BYTES)
        return INVALID_VALUE;
    *answer = DEVICE;
    return SUCCESS;
}
