/** What is asked, by parameters and page by page, and what is wrong with it. */
@NullMarked
package dev.tranche.extender.readapi.query;

import org.jspecify.annotations.NullMarked;
