/** Writers to the API server, and readers of single objects. */
@NullMarked
package dev.tranche.extender.controller;

import org.jspecify.annotations.NullMarked;
