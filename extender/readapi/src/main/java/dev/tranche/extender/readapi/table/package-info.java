/**
 * The read API's answers as text for terminals: tables and descriptions in the style of kubectl.
 */
@NullMarked
package dev.tranche.extender.readapi.table;

import org.jspecify.annotations.NullMarked;
