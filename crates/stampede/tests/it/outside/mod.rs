//! Tests faults that outside users met, each with a real server or app, the binary, and its output.
//! There is one module per fault, and none knows how the program is built.

mod addresses;
mod causes;
mod clock;
mod early;
mod ended;
mod hostile_app;
mod mix;
mod odd_headers;
mod own_words;
mod package_lock;
mod php_errors;
mod planted;
mod quick;
mod redirects;
mod request_file;
mod same_page;
mod secrets;
mod small;
mod small_run;
mod stays_up;
mod talk;
mod unanswered;
mod working_directories;
