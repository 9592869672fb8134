/** Reports to every extender replica, directives back. */
@NullMarked
package dev.tranche.nodeplugin.stream;

import org.jspecify.annotations.NullMarked;
