# Builds RoadRunner from its official plugin modules. main.go names, go.mod and go.sum pin them.
# The public checksum database lacks the modules of this one maker.
export GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0 GONOSUMDB=github.com/roadrunner-server
"$GO" build -trimpath -buildvcs=false -ldflags='-s -w' -o "$OUT/rr" .
