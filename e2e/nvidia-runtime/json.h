// Just enough JSON to read an OCI container's configuration.
#ifndef JSON_H
#define JSON_H

#include <stddef.h>

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    enum json_kind kind;
    char *name;         // of a member of an object, else NULL
    char *text;         // of a string, unescaped, or of a number as written
    struct json *child; // the first of an array or an object
    struct json *next;  // the next of the same array or object
};

// The value in the text, or NULL if the text is not JSON. It is never freed, since the program ends soon.
struct json *json_parse(const char *text);

// The member of that name, or NULL; also NULL if the value is NULL or no object.
const struct json *json_member(const struct json *object, const char *name);

// The text of a string member, or NULL.
const char *json_string(const struct json *object, const char *name);

#endif
