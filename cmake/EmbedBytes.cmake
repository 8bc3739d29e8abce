# cmake -DINPUT=file -DOUTPUT=header -DNAME=symbol -P EmbedBytes.cmake: a file as a constant byte array.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "#pragma once\nalignas(16) inline constexpr unsigned char ${NAME}[] = {\n${bytes}};\n")
