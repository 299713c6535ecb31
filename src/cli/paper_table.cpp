#include "cli/paper_table.h"

namespace reforward::cli {

const std::vector<PaperRow>& paper_table() {
  static const std::vector<PaperRow> rows{
      {"AlexNet", "alexnet", 1024, 224, 4955, 3287, 34, 34},
      {"VGG-11", "vgg11", 64, 224, 3577, 2781, 22, {}},
      {"VGG-13", "vgg13", 64, 224, 5136, 3565, 31, {}},
      {"VGG-16", "vgg16", 64, 224, 5136, 3565, 31, {}},
      {"VGG-19", "vgg19", 64, 224, 5189, 3565, 31, {}},
      {"ResNet-18", "resnet18", 256, 224, 5635, 3677, 35, {}},
      {"ResNet-34", "resnet34", 128, 224, 4079, 1838, 55, {}},
      {"ResNet-50", "resnet50", 64, 224, 5323, 1973, 63, 31},
      {"ResNet-101", "resnet101", 32, 224, 3934, 1024, 74, {}},
      {"ResNet-152", "resnet152", 16, 224, 2767, 526, 81, 37},
      {"DenseNet-121", "densenet121", 32, 224, 4027, 898, 78, {}},
      {"DenseNet-161", "densenet161", 16, 224, 3751, 666, 82, {}},
      {"DenseNet-169", "densenet169", 32, 224, 4862, 897, 82, {}},
      {"DenseNet-201", "densenet201", 16, 224, 3146, 474, 85, 53},
      {"Inception-v3", "inception_v3", 32, 300, 3074, 881, 71, 29},
      {"NASNet", "nasnet", 64, 32, 5832, 1129, 81, {}},
      {"AmoebaNet", "amoebanet", 64, 32, 4944, 1058, 79, {}},
      {"DARTS", "darts", 64, 32, 5627, 1115, 80, 55},
  };
  return rows;
}

}  // namespace reforward::cli
