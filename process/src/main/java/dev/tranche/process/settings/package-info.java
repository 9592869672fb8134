/** The settings of a process: flags, environment variables and a config file. */
@NullMarked
package dev.tranche.process.settings;

import org.jspecify.annotations.NullMarked;
