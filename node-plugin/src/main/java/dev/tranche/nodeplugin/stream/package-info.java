/** Sends reports to every extender replica and receives directives. */
@NullMarked
package dev.tranche.nodeplugin.stream;

import org.jspecify.annotations.NullMarked;
