/* Calls the constructors of the program: see start.S. */
typedef void constructor(int count, char **arguments, char **environment);
#define OWN __attribute__((visibility("hidden")))

extern constructor *const __init_array_start[] OWN;
extern constructor *const __init_array_end[] OWN;

OWN void verbena_run_constructors(int count, char **arguments, char **environment) {
    for (constructor *const *next = __init_array_start; next != __init_array_end; next++) {
        (*next)(count, arguments, environment);
    }
}
