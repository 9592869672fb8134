/** What the extender writes to the API server. */
@NullMarked
package dev.tranche.extender.controller;

import org.jspecify.annotations.NullMarked;
