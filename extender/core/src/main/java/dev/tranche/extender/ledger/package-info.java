/** The record of which pod holds replicas of which GPU; pure. */
@NullMarked
package dev.tranche.extender.ledger;

import org.jspecify.annotations.NullMarked;
