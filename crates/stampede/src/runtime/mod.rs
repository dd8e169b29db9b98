//! PHP runtimes as folders of data: found, rendered, started, proved.
