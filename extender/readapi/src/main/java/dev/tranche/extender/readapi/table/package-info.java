/** The read API's answers as text for terminals: tables in the style of kubectl, and YAML. */
@NullMarked
package dev.tranche.extender.readapi.table;

import org.jspecify.annotations.NullMarked;
