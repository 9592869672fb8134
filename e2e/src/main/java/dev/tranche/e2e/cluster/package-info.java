/**
 * A real Kubernetes cluster in containers. It runs on one of two node images, rancher/k3s or our
 * stand-in; only this package knows which.
 */
@NullMarked
package dev.tranche.e2e.cluster;

import org.jspecify.annotations.NullMarked;
