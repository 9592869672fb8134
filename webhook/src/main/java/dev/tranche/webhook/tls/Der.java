package dev.tranche.webhook.tls;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;

/** Writes the few forms of ASN.1's DER (X.690) that certificates are made of. */
final class Der {
  private static final int BOOLEAN = 0x01;
  private static final int INTEGER = 0x02;
  private static final int BIT_STRING = 0x03;
  private static final int OCTET_STRING = 0x04;
  private static final int OBJECT_IDENTIFIER = 0x06;
  private static final int UTC_TIME = 0x17;
  private static final int GENERALIZED_TIME = 0x18;
  private static final int SEQUENCE = 0x30;
  private static final int CONTEXT = 0x80;
  private static final int CONSTRUCTED = 0x20;

  /** RFC 5280: from this year on a year is written with its century. */
  private static final int LONG_YEAR_MIN = 2050;

  private static final DateTimeFormatter SHORT_YEAR =
      DateTimeFormatter.ofPattern("yyMMddHHmmss'Z'");
  private static final DateTimeFormatter LONG_YEAR =
      DateTimeFormatter.ofPattern("yyyyMMddHHmmss'Z'");

  private Der() {}

  static byte[] sequence(byte[]... parts) {
    return value(SEQUENCE, concatenated(parts));
  }

  static byte[] bool(boolean is) {
    return value(BOOLEAN, new byte[] {(byte) (is ? 0xff : 0)});
  }

  static byte[] integer(BigInteger number) {
    return value(INTEGER, number.toByteArray());
  }

  static byte[] octets(byte[] bytes) {
    return value(OCTET_STRING, bytes);
  }

  /**
   * @param unusedBits of the last byte
   */
  static byte[] bits(int unusedBits, byte... bytes) {
    return value(BIT_STRING, concatenated(new byte[] {(byte) unusedBits}, bytes));
  }

  /**
   * @param dotted such as 2.5.29.17, its first number at most 2
   */
  static byte[] identifier(String dotted) {
    String[] numbers = dotted.split("\\.", -1);
    var bytes = new ByteArrayOutputStream();
    bytes.write(40 * Integer.parseInt(numbers[0]) + Integer.parseInt(numbers[1]));
    for (int i = 2; i < numbers.length; i++) {
      int number = Integer.parseInt(numbers[i]);
      for (int shift = 28; shift > 0; shift -= 7) {
        if ((number >> shift) != 0) {
          bytes.write(((number >> shift) & 0x7f) | 0x80);
        }
      }
      bytes.write(number & 0x7f);
    }
    return value(OBJECT_IDENTIFIER, bytes.toByteArray());
  }

  /** To the second. */
  static byte[] time(Instant instant) {
    ZonedDateTime utc = instant.atZone(ZoneOffset.UTC);
    boolean isLong = utc.getYear() >= LONG_YEAR_MIN;
    String text = (isLong ? LONG_YEAR : SHORT_YEAR).format(utc);
    return value(isLong ? GENERALIZED_TIME : UTC_TIME, text.getBytes(US_ASCII));
  }

  /** A value that is known by its number where it stands, around its own form. */
  static byte[] explicit(int number, byte[] inner) {
    return value(CONTEXT | CONSTRUCTED | number, inner);
  }

  /** A simple value that is known by its number where it stands, instead of its own form. */
  static byte[] implicit(int number, byte[] content) {
    return value(CONTEXT | number, content);
  }

  private static byte[] value(int tag, byte[] content) {
    var bytes = new ByteArrayOutputStream(content.length + 6);
    bytes.write(tag);
    if (content.length < 0x80) {
      bytes.write(content.length);
    } else {
      byte[] length = BigInteger.valueOf(content.length).toByteArray();
      int from = length[0] == 0 ? 1 : 0;
      bytes.write(0x80 | (length.length - from));
      bytes.write(length, from, length.length - from);
    }
    bytes.writeBytes(content);
    return bytes.toByteArray();
  }

  private static byte[] concatenated(byte[]... parts) {
    var bytes = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      bytes.writeBytes(part);
    }
    return bytes.toByteArray();
  }
}
