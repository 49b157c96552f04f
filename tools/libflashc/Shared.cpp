// libflashc.so is made of FlashcCApi; a library needs a file of its own.
