#!/usr/bin/env bash
# run.sh FOLDER: mutates the package placement by PIT, runs its tests on each mutant, writes PIT's report to FOLDER, and prints the
# mutants that survive. Takes ten minutes on a quiet machine; a busy one lets tests time out, which counts as killed.
set -euo pipefail
shopt -s inherit_errexit
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=${1:?usage: run.sh FOLDER}
# shellcheck source=SCRIPTDIR/../../.build/prepare.sh
. "$root/.build/prepare.sh"
prepare_jdk
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/pom.xml" <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>dev.tranche</groupId>
  <artifactId>pit</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.pitest</groupId>
      <artifactId>pitest-command-line</artifactId>
      <version>1.30.2</version>
    </dependency>
    <dependency>
      <groupId>org.pitest</groupId>
      <artifactId>pitest-junit5-plugin</artifactId>
      <version>1.2.3</version>
    </dependency>
    <dependency>
      <groupId>org.junit.platform</groupId>
      <artifactId>junit-platform-launcher</artifactId>
      <version>6.1.3</version>
    </dependency>
  </dependencies>
</project>
POM
cd "$root"
./mvnw -q -B -ntp -f "$work/pom.xml" dependency:build-classpath -Dmdep.outputFile="$work/pit"
./mvnw -q -B -ntp -pl extender/core -am test-compile dependency:build-classpath -Dmdep.outputFile="$work/core" \
  -Dmdep.includeScope=test -Dspotless.check.skip -Dcyclonedx.skip
core=$root/extender/core
"$JAVA_HOME/bin/java" -cp "$(cat "$work/pit"):$core/target/test-classes:$core/target/classes:$(cat "$work/core")" \
  org.pitest.mutationtest.commandline.MutationCoverageReport --reportDir "$out" --threads 1 --timestampedReports=false \
  --targetClasses 'dev.tranche.extender.placement.*' --targetTests 'dev.tranche.extender.placement.*Test,dev.tranche.extender.score.*Test' \
  --sourceDirs "$core/src/main/java" --mutableCodePaths "$core/target/classes" --outputFormats XML,HTML --jvmArgs=-Xmx1g
grep -oE "status='(SURVIVED|NO_COVERAGE)'.*" "$out/mutations.xml" |
  sed -E "s#.*<mutatedClass>[a-z.]*([^<]*)</mutatedClass><mutatedMethod>([^<]*)<.*<lineNumber>([0-9]*)<.*<description>([^<]*)<.*#\1 \2 \3: \4#" | sort
