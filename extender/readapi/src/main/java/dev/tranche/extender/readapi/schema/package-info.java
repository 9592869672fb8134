/** Makes the API's OpenAPI document and the page's types from the records, at build time. */
@NullMarked
package dev.tranche.extender.readapi.schema;

import org.jspecify.annotations.NullMarked;
