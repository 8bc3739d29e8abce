#include "opr/catalogue_builder.h"

namespace megascope {

void add_rnn(CatalogueBuilder& b) {
    b.category(OprCategory::rnn);
    b.add({.type = "RNNCellForward", .params = {"RNNCell"}, .inputs = {"input", "weight_ih", "bias_ih", "hx", "weight_hh", "bias_hh"},
           .outputs = {"h_new"}, .summary = "One step of a plain recurrent cell"});
    b.add({.type = "LSTMCellForward", .params = {"Empty"},
           .inputs = {"input", "weight_ih", "bias_ih", "hx", "weight_hh", "bias_hh", "cx"}, .outputs = {"h_new", "c_new", "gates"},
           .profile = "LSTMCell", .summary = "One step of an LSTM cell"});
    b.add({.type = "RNNForward", .params = {"RNN"}, .inputs = {"input", "hx", "flatten_weights"}, .outputs = {"output", "hy", "reserve"},
           .profile = "RNN", .summary = "Plain recurrent network over a sequence"});
    b.add({.type = "RNNBackward", .params = {"RNN"}, .inputs = {"x", "y", "hx", "dy", "dhy", "flatten_weights", "reserve"},
           .outputs = {"dx", "dhx", "dw"}, .summary = "Gradients of the recurrent network"});
    b.add({.type = "LSTMForward", .params = {"LSTM"}, .inputs = {"input", "hx", "cx", "flatten_weights"},
           .outputs = {"output", "hy", "cy", "reserve"}, .profile = "LSTM", .summary = "LSTM network over a sequence"});
    b.add({.type = "LSTMBackward", .params = {"LSTM"},
           .inputs = {"x", "y", "hx", "cx", "dy", "dhy", "dcy", "flatten_weights", "reserve"}, .outputs = {"dx", "dhx", "dcx", "dw"},
           .summary = "Gradients of the LSTM network"});
}

} // namespace megascope
