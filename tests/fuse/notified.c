/* SPDX-License-Identifier: Apache-2.0 */

/*
 * notified SOCKET: receives what a service manager would (sd_notify(3)) and prints it, a line each,
 * until STOPPING=1 or half a minute without anything
 */

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

int main(int argc, char **argv)
{
	const struct timeval limit = {.tv_sec = 30};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char text[256];
	ssize_t n;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (argc != 2 || strlen(argv[1]) >= sizeof(address.sun_path))
		return 2;
	strcpy(address.sun_path, argv[1]);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0)
		return 1;
	while ((n = recv(fd, text, sizeof(text) - 1, 0)) > 0) {
		text[n] = '\0';
		printf("%s\n", text);
		fflush(stdout);
		if (strstr(text, "STOPPING=1"))
			return 0;
	}
	return 1;
}
