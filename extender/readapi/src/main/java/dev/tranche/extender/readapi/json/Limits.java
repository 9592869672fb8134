package dev.tranche.extender.readapi.json;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** What the API's document says of a field or a type beside its Java type. */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.RECORD_COMPONENT, ElementType.TYPE})
public @interface Limits {
  /** The smallest number, of an array that of each item. */
  int minimum() default 0;

  /** The greatest number, of an array that of each item; negative without one. */
  int maximum() default -1;

  /** The most items of an array; 0 without a limit. */
  int maxItems() default 0;

  /** The regular expression of a type that is written as a string; empty without one. */
  String pattern() default "";
}
