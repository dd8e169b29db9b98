# Open Swoole uses Brotli if it finds it. Without it, it compresses with gzip like the others.
. ./pecl.sh
export ac_cv_lib_brotlienc_BrotliEncoderCreateInstance=no
pecl openswoole 25.2.0 bcc1fed4877b6646cb8f79b092ba03d5e495800465a3fff83c065c58d4312d40
