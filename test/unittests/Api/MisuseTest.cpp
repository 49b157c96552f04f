// The C API with everything that is wrong, one thing at a time.
#include "flashc/flashc.h"

#include "unittests/Api/Sized.h"
#include "unittests/Catch.h"

using flashc::test::sized;

namespace {
std::string take(flashc_error *error) {
  std::string text = flashc_error_message(error);
  flashc_error_free(error);
  return text;
}

struct Fixture {
  flashc_context *context = nullptr;
  flashc_kernel *kernel = nullptr;
  float data[64] = {};
  Fixture() {
    auto options = sized<flashc_context_options>();
    options.target = "cpu";
    options.cache_dir = "";
    REQUIRE(take(flashc_context_create(&options, &context)) == "");
    auto spec = sized<flashc_attention_spec>();
    spec.head_dim = 4;
    spec.dtype = FLASHC_F32;
    REQUIRE(take(flashc_compile(context, &spec, nullptr, nullptr, &kernel)) ==
            "");
  }
  ~Fixture() {
    flashc_kernel_free(kernel);
    flashc_context_free(context);
  }
  flashc_array array() {
    flashc_array a = {};
    a.data = data;
    a.dtype = FLASHC_F32;
    a.rank = 4;
    for (int n = 0; n < 4; ++n)
      a.shape[n] = 1, a.strides[n] = 1;
    a.shape[3] = 4;
    return a;
  }
  flashc_arguments arguments() {
    auto a = sized<flashc_arguments>();
    a.query = a.key = a.value = a.output = a.lse = array();
    a.lse.rank = 3;
    return a;
  }
  std::string launch(const flashc_arguments &a) {
    return take(flashc_launch(kernel, nullptr, &a));
  }
};
} // namespace

TEST_CASE("misuse: NULL where there must be something") {
  Fixture f;
  auto spec = sized<flashc_attention_spec>();
  auto info = sized<flashc_kernel_info>();
  auto arguments = f.arguments();
  flashc_kernel *kernel = nullptr;
  flashc_future *future = nullptr;
  char *text = nullptr;
  CHECK(take(flashc_context_create(nullptr, nullptr)) ==
        "flashc_context_create: context is NULL; give one");
  CHECK_THAT(take(flashc_compile(nullptr, &spec, nullptr, nullptr, &kernel)),
             Catch::Contains("context is NULL"));
  CHECK_THAT(
      take(flashc_compile(f.context, nullptr, nullptr, nullptr, &kernel)),
      Catch::Contains("attention_spec is NULL"));
  CHECK_THAT(take(flashc_compile(f.context, &spec, nullptr, nullptr, nullptr)),
             Catch::Contains("kernel is NULL"));
  CHECK_THAT(
      take(flashc_compile_async(nullptr, &spec, nullptr, nullptr, &future)),
      Catch::Contains("context is NULL"));
  CHECK_THAT(
      take(flashc_compile_async(f.context, &spec, nullptr, nullptr, nullptr)),
      Catch::Contains("future is NULL"));
  CHECK_THAT(take(flashc_future_get(nullptr, &kernel)),
             Catch::Contains("future is NULL"));
  CHECK_THAT(take(flashc_load(nullptr, "x", nullptr, &kernel)),
             Catch::Contains("context is NULL"));
  CHECK_THAT(take(flashc_load(f.context, nullptr, nullptr, &kernel)),
             Catch::Contains("path is NULL"));
  CHECK_THAT(take(flashc_load(f.context, "/no/such.json", nullptr, &kernel)),
             Catch::Contains("cannot read '/no/such.json'"));
  CHECK_THAT(take(flashc_launch(nullptr, nullptr, &arguments)),
             Catch::Contains("kernel is NULL"));
  CHECK_THAT(take(flashc_launch(f.kernel, nullptr, nullptr)),
             Catch::Contains("arguments is NULL"));
  CHECK_THAT(take(flashc_kernel_get_info(nullptr, &info)),
             Catch::Contains("kernel is NULL"));
  CHECK_THAT(take(flashc_kernel_get_info(f.kernel, nullptr)),
             Catch::Contains("kernel_info is NULL"));
  CHECK_THAT(take(flashc_kernel_explain(f.kernel, 1, 1, 1, 1, 1, nullptr)),
             Catch::Contains("text is NULL"));
  CHECK_THAT(take(flashc_kernel_explain(f.kernel, 1, 1, 1, -1, 1, &text)),
             Catch::Contains("a size is -1"));
  flashc_gradients *gradients = nullptr;
  auto gradientArguments = sized<flashc_gradient_arguments>();
  auto gradientsInfo = sized<flashc_gradients_info>();
  uint64_t bytes = 0;
  CHECK_THAT(take(flashc_compile_gradients(nullptr, &spec, nullptr, nullptr,
                                           nullptr, &gradients)),
             Catch::Contains("context is NULL"));
  CHECK_THAT(take(flashc_compile_gradients(f.context, nullptr, nullptr, nullptr,
                                           nullptr, &gradients)),
             Catch::Contains("attention_spec is NULL"));
  CHECK_THAT(take(flashc_compile_gradients(f.context, &spec, nullptr, nullptr,
                                           nullptr, nullptr)),
             Catch::Contains("gradients is NULL"));
  CHECK_THAT(
      take(flashc_gradients_workspace(nullptr, &gradientArguments, &bytes)),
      Catch::Contains("gradients is NULL"));
  CHECK_THAT(
      take(flashc_launch_gradients(nullptr, nullptr, &gradientArguments)),
      Catch::Contains("gradients is NULL"));
  CHECK_THAT(take(flashc_gradients_get_info(nullptr, &gradientsInfo)),
             Catch::Contains("gradients is NULL"));
  flashc_gradients_free(nullptr);
  CHECK(flashc_future_wait(nullptr, 0) == 0);
  CHECK(std::string(flashc_context_target(nullptr)).empty());
  CHECK(std::string(flashc_error_message(nullptr)).empty());
  flashc_error_free(nullptr);
  flashc_kernel_free(nullptr);
  flashc_future_free(nullptr);
  flashc_context_free(nullptr);
  flashc_string_free(nullptr);
  CHECK(kernel == nullptr);
}

TEST_CASE("misuse: structs of other versions") {
  Fixture f;
  flashc_kernel *kernel = nullptr;
  struct {
    flashc_attention_spec known;
    int64_t later;
  } newer = {sized<flashc_attention_spec>(), 0};
  newer.known.head_dim = 4;
  newer.known.dtype = FLASHC_F32;
  newer.known.size = sizeof newer;
  CHECK(take(flashc_compile(f.context, &newer.known, nullptr, nullptr,
                            &kernel)) == "");
  flashc_kernel_free(kernel);
  newer.later = 1;
  CHECK_THAT(
      take(flashc_compile(f.context, &newer.known, nullptr, nullptr, &kernel)),
      Catch::Contains("and a later one is not zero; use a newer library"));
  newer.known.size = 0;
  CHECK_THAT(
      take(flashc_compile(f.context, &newer.known, nullptr, nullptr, &kernel)),
      Catch::Contains("the size of attention_spec is 0") &&
          Catch::Contains("sizeof(flashc_attention_spec)"));
  newer.known.size = size_t(-1);
  CHECK_THAT(
      take(flashc_compile(f.context, &newer.known, nullptr, nullptr, &kernel)),
      Catch::Contains("the size of attention_spec is"));
}

TEST_CASE("misuse: options and descriptions that mean nothing") {
  Fixture f;
  flashc_kernel *kernel = nullptr;
  flashc_context *context = nullptr;
  auto options = sized<flashc_context_options>();
  options.assembler = 9;
  CHECK_THAT(take(flashc_context_create(&options, &context)),
             Catch::Contains("assembler is 9, but is from 0 to 3"));
  auto spec = sized<flashc_attention_spec>();
  spec.head_dim = 4;
  auto compile = [&] {
    return take(flashc_compile(f.context, &spec, nullptr, nullptr, &kernel));
  };
  spec.dtype = 77;
  CHECK_THAT(compile(), Catch::Contains("dtype is 77"));
  spec.dtype = FLASHC_I64;
  CHECK_THAT(compile(), Catch::Contains("element type is 'i64'"));
  spec.dtype = FLASHC_F32;
  spec.mask = "sideways";
  CHECK_THAT(compile(), Catch::Contains("column 1"));
  spec.mask = nullptr;
  spec.capture_count = 1;
  CHECK_THAT(compile(), Catch::Contains("captures is NULL"));
  flashc_capture capture = {};
  spec.captures = &capture;
  CHECK_THAT(compile(), Catch::Contains("capture '' has dtype 0 and rank 0"));
  capture.name = "bias";
  capture.dtype = FLASHC_F32;
  capture.rank = 5;
  CHECK_THAT(compile(), Catch::Contains("a rank from 0 to 4"));
  spec.capture_count = 0;
  spec.head_dim = 5000;
  CHECK_THAT(compile(), Catch::Contains("5000"));
  spec.head_dim = 4;
  spec.scale = -1;
  CHECK_THAT(compile(), Catch::Contains("scale"));
  spec.scale = 0;
  spec.keys = -4;
  CHECK_THAT(compile(), Catch::Contains("number of keys is -4"));
  spec.keys = 0;
  spec.name = "no name";
  CHECK_THAT(compile(), Catch::Contains("is called 'no name'"));
}

TEST_CASE("misuse: arguments of a launch") {
  Fixture f;
  CHECK(f.launch(f.arguments()) == "");
  auto a = f.arguments();
  a.key.dtype = 0;
  CHECK_THAT(f.launch(a), Catch::Contains("array 'key': it is not given"));
  a.key.dtype = FLASHC_F16;
  CHECK_THAT(f.launch(a), Catch::Contains("array 'key': its dtype is f16 (1), "
                                          "but the kernel takes f32"));
  a = f.arguments();
  a.query.rank = 7;
  CHECK_THAT(f.launch(a), Catch::Contains("its rank is 7"));
  a.query.rank = 3;
  CHECK_THAT(f.launch(a), Catch::Contains("it has rank 3, but the kernel takes "
                                          "rank 4"));
  a = f.arguments();
  a.value.data = nullptr;
  CHECK_THAT(f.launch(a), Catch::Contains("its pointer is null"));
  a.value.data = reinterpret_cast<char *>(f.data) + 1;
  CHECK_THAT(f.launch(a), Catch::Contains("is not a multiple of 4 bytes"));
  a = f.arguments();
  a.output.strides[3] = 2;
  CHECK_THAT(f.launch(a), Catch::Contains("pass a contiguous copy"));
  a = f.arguments();
  a.key.shape[2] = -1;
  CHECK_THAT(f.launch(a), Catch::Contains("has size -1"));
  a = f.arguments();
  flashc_array extra = f.array();
  a.captures = &extra;
  a.capture_count = 1;
  CHECK_THAT(f.launch(a), Catch::Contains("1 captures are given, but it takes "
                                          "0"));
}
