/**
 * A real Kubernetes cluster in containers. Which of two kinds of node image it runs on, rancher/k3s
 * or our stand-in, is known inside this package only.
 */
@NullMarked
package dev.tranche.e2e.cluster;

import org.jspecify.annotations.NullMarked;
