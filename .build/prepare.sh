# shellcheck shell=bash
# Sourced by the commands at the top of the repository. Installs what they need and builds what they run, once.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/.build/cache.sh"
started=$SECONDS

# To whoever shows the steps of a long command, see progress.sh, else to stderr. Not to /dev/stderr: that would empty a file that it is.
step() {
  local line
  line=$(printf '[%3d s] %s' $((SECONDS - started)) "$*")
  if [ -n "${TRANCHE_STEPS:-}" ]; then echo "$line" >>"$TRANCHE_STEPS"; else echo "$line" >&2; fi
}

# answer_help WORD...: shows how a command is used and ends, if a word asks for that.
answer_help() {
  case " $* " in
    *" -h "* | *" --help "* | " help "*)
      usage
      exit
      ;;
  esac
}

# refuse WHY: ends a command that does not understand its words.
refuse() {
  echo "$1; ./$(basename "$0") --help shows what there is" >&2
  exit 2
}

prepare_jdk() {
  JAVA_HOME=$("$root/.build/jdk.sh")
  export JAVA_HOME
}

prepare_compiler() {
  CC=$("$root/.build/tool.sh" gcc)
  export CC
}

# ErrorProne and NullAway take most of the compiler's time, and ./check has them for the main code.
without_checks=(-Dcompiler.checks=-Xlint:none)
module_folders=("$root"/{api,process,webhook,extender,extender/core,extender/readapi,node-plugin,e2e/simulate,e2e/verify,e2e,e2e/bench})

compile_without_checks() {
  mkdir -p "$root/target"
  touch "$root/target/unchecked"
}

# What was compiled without them is compiled anew.
compile_with_checks() {
  [ ! -e "$root/target/unchecked" ] || rm -rf "${module_folders[@]/%//target/classes}"
  rm -f "$root/target/unchecked"
}

sources_hash() {
  hash_of "$root/pom.xml" "$root/.mvn" "${module_folders[@]/%//pom.xml}" "${module_folders[@]/%//src/main}" "$JAVA_HOME/release"
}

# Builds the jars and their libraries; does nothing if the sources have not changed.
prepare_jars() {
  prepare_jdk
  [ "$(cat "$root/target/jars.stamp" 2>/dev/null)" != "$(sources_hash)" ] || return 0
  step "building the jars"
  # Otherwise a library that is no longer needed would stay, and get into the image.
  rm -rf "$root"/{webhook,extender,node-plugin,e2e,e2e/simulate,e2e/verify}/target/lib
  compile_without_checks
  (cd "$root" && ./mvnw -q -B -T2 package -DskipTests -DskipTestCompile -Dspotless.check.skip -Dcyclonedx.skip "${without_checks[@]}")
  jars_are_built
}

# jars_are_built: records that the jars are built from the current sources, by this or another script.
jars_are_built() {
  mkdir -p "$root/target"
  sources_hash >"$root/target/jars.stamp"
}

# make_image FOLDER: saves Tranche's image as a tar file in the engine's format.
make_image() {
  "$root/e2e/stand-in/build.sh" base >/dev/null
  "$root/deploy/image/build.sh" "$image_tag" >/dev/null
  docker save -o "$1/image.tar" "$image_tag"
}

make_fake_nvml() { make -s -C "$root/e2e/fakenvml" OUT="$1" CC="$CC"; }
make_fake_mps() { make -s -C "$root/e2e/fakemps" OUT="$1" CC="$CC"; }

# Builds everything for a cluster with Tranche, and writes the paths to target/e2e.properties.
prepare_cluster() {
  "$root/.build/docker.sh"
  prepare_jars
  prepare_compiler
  # The image also depends on the programs that train its class caches.
  local image fake e2e=$root/e2e/src/main/java/dev/tranche/e2e training=$root/e2e/bench/src/main/java/dev/tranche/e2e/bench
  # With letters first: a tag of digits alone is a number in YAML.
  image_tag=tranche/tranche:dev-$(hash_of "$root/deploy/image" "$root"/{webhook,extender,node-plugin}/target/{*.jar,lib} "$JAVA_HOME/release" \
    "$root/e2e/fakenvml" "$training"/Plugin{Training,StreamTraining,Bench}.java "$e2e"/{gpu,install/{Await,HttpGet}.java} "$root/e2e/verify/src/main/java/dev/tranche/e2e/kubelet" \
    "$root"/e2e/target/lib/asm-*.jar "$training"/{training,webhook} "$training"/plane/{ClusterObjects,SimulatedNode,SimulatedNodes}.java)
  step "the image of Tranche"
  image=$(cached image make_image "$image_tag")
  fake=$(cached fakenvml make_fake_nvml "$root/e2e/fakenvml")
  {
    echo "image.tag=$image_tag"
    echo "image.tar=$image/image.tar"
    echo "fakenvml=$fake/libnvidia-ml.so.1"
  } >"$root/target/e2e.properties"
}

# The tools that readers of the walkthroughs use.
prepare_tools() {
  local mps
  mps=$(cached fakemps make_fake_mps "$root/e2e/fakemps")
  {
    echo "fakemps=$mps/nvidia-cuda-mps-control"
    echo "helm=$("$root/.build/tool.sh" helm)"
    "$root/e2e/stand-in/build.sh" kubectl
  } >>"$root/target/e2e.properties"
}

# For a quick start, since these programs mostly wait for others.
java_flags=(-XX:TieredStopAtLevel=1)

# What Testcontainers reads only from environment variables. The Docker engine answers by then.
set_testcontainers() {
  # Clusters that are kept running (the demo's) are not cleaned up at exit.
  export TESTCONTAINERS_REUSE_ENABLE=true
  # Its cleaner is a separate image; without it, containers are removed when the Java process exits.
  "$root/.build/registry.sh" testcontainers/ryuk:0.14.0 2>/dev/null || export TESTCONTAINERS_RYUK_DISABLED=true
  # Some machines have this file although the engine runs on the same machine. Testcontainers would assume
  # that it runs in a container, and look for its host with images that do not exist here.
  if [ -e /.dockerenv ] && pgrep -x dockerd >/dev/null; then
    export TESTCONTAINERS_HOST_OVERRIDE=127.0.0.1 TESTCONTAINERS_CHECKS_DISABLE=true
  fi
}

# run_java MAIN ARG...: runs a program of e2e or of its benchmarks.
run_java() {
  set_testcontainers
  exec "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED -XX:+UseSerialGC "${java_flags[@]}" \
    -Djava.util.logging.config.file="$root/.mvn/test-logging.properties" \
    -cp "$root/e2e/bench/target/classes:$root/extender/core/target/classes:$root/e2e/simulate/target/classes:$root/e2e/target/classes:$root/e2e/target/lib/*" "$@"
}
