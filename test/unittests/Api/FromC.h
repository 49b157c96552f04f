#ifndef FLASHC_TEST_UNITTESTS_API_FROMC_H
#define FLASHC_TEST_UNITTESTS_API_FROMC_H
#ifdef __cplusplus
extern "C"
#endif
    /* Writes 8 floats; not 0 if something failed. */
    int attention_from_c(float *output);
#endif
