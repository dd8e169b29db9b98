# Builds Swoole without parts that an HTTP server on this machine does not need. The checksum is
# Alpine's for the same archive.
. ./pecl.sh
pecl swoole 6.2.1 \
    756bf8501e95986f271d6b4b68861e90bbcf8d3604201e34d10de33e24bcc3bebfee009fc488fc7e4ba34aed3f202db55643def164e6e0d086a4e8b98ef74c6b \
    --disable-brotli
