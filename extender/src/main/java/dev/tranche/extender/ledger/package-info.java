/** Who holds what on which GPU; pure. */
@NullMarked
package dev.tranche.extender.ledger;

import org.jspecify.annotations.NullMarked;
