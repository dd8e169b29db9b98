//! The `stampede` program.

fn main() {
    stampede::keeper::main_if_asked();
}
